import { createRandom } from "@calotype/conformance/fleet-simulation/create-random";
import { describe, expect, it } from "vitest";
import { findBrokenRule } from "./check-response.ts";
import { cutAt } from "./grammar/bytes.ts";
import { drawFormRequest } from "./grammar/forms.ts";
import { listLinks } from "./grammar/links.ts";
import { drawJsonRequest } from "./grammar/requests.ts";
import { listSplits } from "./grammar/upstream-responses.ts";
import { parseResponses } from "./parse-responses.ts";
import { isPublic } from "./watched-network.ts";

const HEADERS = { "x-request-id": "req_1", "cache-control": "no-store", "content-type": "application/json" };
const STREAM = { ...HEADERS, "cache-control": "no-cache, no-transform", "content-type": "text/event-stream" };
const envelope = (code: string) =>
  JSON.stringify({ error: { message: "No.", type: "server_error", code, param: null } });
const OWN_ERROR = `event: error\ndata: ${envelope("upstream_timeout")}\n\n`;

describe("the rules of responses", () => {
  it.each([
    ["a good response", 200, HEADERS, "{}", undefined],
    ["a documented error", 503, HEADERS, envelope("overloaded"), undefined],
    ["an unknown code", 503, HEADERS, envelope("oops"), "an error has a documented code"],
    ["no envelope", 400, HEADERS, "{}", "an error has a message"],
    ["broken JSON", 200, HEADERS, "{", "a response is valid JSON"],
    ["no request id", 200, { ...HEADERS, "x-request-id": "" }, "{}", "every response has x-request-id"],
    [
      "a response for caches",
      200,
      { ...HEADERS, "cache-control": "" },
      "{}",
      "every response has cache-control: no-store",
    ],
    ["a whole stream", 200, STREAM, "data: 1\r\n\r\n", undefined],
    ["half an event", 200, STREAM, "data: 1\n", "a stream ends after an event"],
    ["an error event after an event", 200, STREAM, `data: 1\n\n${OWN_ERROR}`, undefined],
    [
      "an error event inside an event",
      200,
      STREAM,
      `data: 1\n${OWN_ERROR}`,
      "an error event follows a complete event",
    ],
  ])("check %s", (_what, status, headers, body, rule) => {
    expect(findBrokenRule({ status, headers, body: Buffer.from(body) })).toBe(rule);
  });
});

describe("the reader of connections", () => {
  const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab";
  it.each([
    [OK, [[200, "ab"]], undefined],
    [
      OK + OK,
      [
        [200, "ab"],
        [200, "ab"],
      ],
      undefined,
    ],
    ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", [[200, "ab"]], undefined],
    [
      `HTTP/1.1 100 Continue\r\n\r\n${OK}`,
      [
        [100, ""],
        [200, "ab"],
      ],
      undefined,
    ],
    [OK.slice(0, -1), [], "a response is framed exactly"],
    [`${OK}c`, [[200, "ab"]], "a response has a valid head"],
    ["HTTP/1.1 200 OK\r\nno colon\r\n\r\n", [], "a response has a valid head"],
    ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nab\r\n", [], "a response is framed exactly"],
  ])("reads %j", (bytes, expected, problem) => {
    const parsed = parseResponses(Buffer.from(bytes));

    expect(parsed.responses.map(({ status, body }) => [status, body.toString()])).toEqual(expected);
    expect(parsed.problem).toBe(problem);
  });
});

it.each([
  ["8.8.8.8", true],
  ["127.0.0.1", false],
  ["169.254.169.254", false],
  ["100.64.0.1", false],
  ["2606:4700:4700::1111", true],
  ["::1", false],
  ["::ffff:8.8.8.8", false],
  ["64:ff9b::808:808", false],
  ["2002:808:808::", false],
  ["fe80::1%eth0", false],
  ["images.example", false],
])("%s is public: %s", (address, expected) => {
  expect(isPublic(address)).toBe(expected);
});

describe("the grammars", () => {
  it("draw the same inputs for the same seed, and valid ones among them", () => {
    for (const draw of [drawJsonRequest, drawFormRequest]) {
      const inputs = (seed: number) => {
        const random = createRandom(seed, "test");
        return Array.from({ length: 100 }, () => draw(random));
      };
      expect(inputs(1)).toEqual(inputs(1));
      expect(inputs(1).filter(({ isValid }) => isValid).length).toBeGreaterThan(10);
    }
  });

  it("have 1,000 links and every place of the recorded streams", () => {
    const links = listLinks("http://127.0.0.1:1");
    expect(new Set(links.map((link) => JSON.stringify(link))).size).toBeGreaterThan(1_000);
    expect(listSplits().length).toBeGreaterThan(5_000);
  });

  it("cut bytes without losing any", () => {
    expect(cutAt(Buffer.from("abcdef"), [4, 2, 2, 99]).map(String)).toEqual(["ab", "", "cd", "ef", ""]);
  });
});
