import { writeImageReply } from "../simulated-provider.ts";
import { type Bytes, drawPackets, mutateBytes, toBytes } from "./bytes.ts";
import { chance, drawInt, pick, type Random } from "./draw.ts";

/** What a provider writes on a connection. `$CHANNEL_KEY` is replaced when it is sent. */
export interface RawUpstreamInput {
  /** Whether the client asked for a stream. */
  readonly isStream: boolean;
  readonly bytes: Bytes;
  /** Where the bytes are cut into packets. */
  readonly cuts: readonly number[];
  /** True if it is written before the whole request was read. */
  readonly isEarly: boolean;
  readonly ending: "ends" | "resets" | "stays open";
}

const JSON_TEXT = writeImageReply({ images: 1, form: "seedream" });
const EVENTS = writeImageReply({ images: 1, form: "events" });

/** A response with one image. */
export const VALID_RAW_RESPONSE: RawUpstreamInput = {
  isStream: false,
  bytes: {
    text: `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(JSON_TEXT)}\r\n\r\n${JSON_TEXT}`,
  },
  cuts: [],
  isEarly: false,
  ending: "stays open",
};

/** A response whose head, framing and end may each be wrong. */
export function drawRawUpstreamInput(random: Random): RawUpstreamInput {
  const isStream = chance(random, 0.4);
  const text = isStream ? EVENTS : JSON_TEXT;
  const type = `content-type: ${isStream ? "text/event-stream" : "application/json"}`;
  const { lines, body } = drawFraming(random, text);
  const head = `${drawStatusLine(random)}\r\n${[type, ...lines, ...drawLines(random)].join("\r\n")}\r\n\r\n`;
  const whole = Buffer.from(`${drawBefore(random)}${head}${body}${drawAfter(random)}`, "latin1");
  const sent = chance(random, 0.3) ? mutateBytes(random, whole) : whole;
  return {
    isStream,
    bytes: toBytes(sent),
    cuts: drawPackets(random, sent.length),
    isEarly: chance(random, 0.1),
    ending: drawEnding(random),
  };
}

function drawEnding(random: Random): RawUpstreamInput["ending"] {
  return pick(random, ["ends", "ends", "ends", "ends", "ends", "resets", "resets", "stays open"]);
}

function drawStatusLine(random: Random): string {
  if (chance(random, 0.8)) return "HTTP/1.1 200 OK";
  return pick(random, [
    "HTTP/1.0 200 OK",
    "HTTP/2 200",
    "HTTP/1.1 200",
    "HTTP/1.1  200 OK",
    "HTTP/1.1 99 X",
    "HTTP/1.1 1000 X",
    "HTTP/1.1 abc",
    "http/1.1 200 OK",
    "ICY 200 OK",
    "",
    "\x16\x03\x01\x02\x00",
    "HTTP/1.1 101 Switching Protocols",
    "HTTP/1.1 204 No Content",
    "HTTP/1.1 304 Not Modified",
    "HTTP/1.1 500 No",
    "HTTP/1.1 429 Slow",
    "HTTP/1.1 401 Unauthorized",
    "HTTP/1.1 400 $CHANNEL_KEY",
    "HTTP/1.1 302 Found",
  ]);
}

function drawBefore(random: Random): string {
  if (chance(random, 0.8)) return "";
  return pick(random, [
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 102 Processing\r\n\r\n",
    "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n",
    "\r\n",
    "\r\n\r\n",
    " ",
    "HTTP/1.1 100 Continue\r\n\r\n".repeat(20),
    "HTTP/1.1 100 Continue\r\ncontent-length: 5\r\n\r\n",
    "\0",
  ]);
}

function drawLines(random: Random): string[] {
  if (chance(random, 0.7)) return [];
  return [
    pick(random, [
      "x-request-id: $CHANNEL_KEY",
      `x-long: ${"y".repeat(drawInt(random, 1_000, 100_000))}`,
      "connection: close",
      "connection: keep-alive",
      "keep-alive: timeout=0",
      "keep-alive: timeout=99999999999",
      "no colon",
      ": empty",
      "a b: c",
      "x: \u0000",
      "x: é",
      " folded",
      "content-encoding: gzip",
      "trailer: x",
      "upgrade: h2c",
      "location: http://127.0.0.1/",
      ...Array.from({ length: 2 }, () =>
        Array.from({ length: drawInt(random, 50, 3_000) }, (_, index) => `x-${index}: y`).join("\r\n"),
      ),
    ]),
  ];
}

function drawAfter(random: Random): string {
  return chance(random, 0.8)
    ? ""
    : pick(random, [
        "\r\n",
        "x",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
        "0\r\n\r\n",
        "\0".repeat(100),
        "y".repeat(70_000),
      ]);
}

function drawFraming(
  random: Random,
  text: string,
): { readonly lines: readonly string[]; readonly body: string } {
  const length = Buffer.byteLength(text);
  const hex = length.toString(16);
  const half = text.slice(0, drawInt(random, 0, text.length));
  if (chance(random, 0.4)) return { lines: [`content-length: ${length}`], body: text };
  return pick(random, [
    { lines: [], body: text },
    { lines: ["transfer-encoding: chunked"], body: `${hex}\r\n${text}\r\n0\r\n\r\n` },
    { lines: ["transfer-encoding: chunked"], body: `${hex};a=b\r\n${text}\r\n0\r\nx-trailer: y\r\n\r\n` },
    { lines: ["transfer-encoding: chunked"], body: `${hex}\r\n${text}\r\n` },
    { lines: ["transfer-encoding: chunked"], body: `${hex}\r\n${half}` },
    { lines: ["transfer-encoding: chunked"], body: `${hex}\n${text}\n0\n\n` },
    { lines: ["transfer-encoding: chunked"], body: `-1\r\n${text}` },
    { lines: ["transfer-encoding: chunked"], body: `fffffffffffffffff\r\n${text}` },
    { lines: ["transfer-encoding: chunked", `content-length: ${length}`], body: text },
    { lines: ["transfer-encoding: gzip, chunked"], body: `${hex}\r\n${text}\r\n0\r\n\r\n` },
    { lines: [`content-length: ${length}`], body: half },
    { lines: [`content-length: ${length - 5}`], body: text },
    { lines: [`content-length: ${length + 5}`], body: text },
    { lines: [`content-length: ${length}`, `content-length: ${length}`], body: text },
    { lines: [`content-length: ${length}`, `content-length: ${length + 1}`], body: text },
    { lines: ["content-length: -1"], body: text },
    { lines: ["content-length: x"], body: text },
    { lines: ["content-length: 99999999999999999999"], body: text },
    { lines: ["content-length: 0"], body: "" },
  ]);
}
