import { beforeAll, describe, expect, it } from "vitest";
import type { ChannelOptions } from "../channels/channel.js";
import type { Family } from "../families/family.js";
import type { GatewayOptions } from "../gateway-options/options.js";
import { darkroom, quickDarkroom } from "../testing/darkroom.js";
import {
  createTestGateway,
  type Provider,
  type ReadResponse,
  type TestGateway,
} from "../testing/test-gateway.js";
import { createVirtualTime } from "../testing/virtual-time.js";

// It is imported on demand, which takes real time.
beforeAll(() => import("./provider-job.js"));

/** A call as `GET /v1/jobs/1`, and when it came, in seconds after the first. */
type Step = readonly [call: string, atSeconds: number];

interface Bench extends TestGateway {
  readonly steps: Step[];
  /** Posts on virtual time. */
  readonly ask: (fields?: object, headers?: Record<string, string>) => Promise<ReadResponse>;
}

const LINK = "https://pictures.darkroom.test/1.png";
const DONE = { state: "done", pictures: [LINK] };
const PENDING = { state: "pending" };

const ok = (body: object): Response => Response.json(body);

/** @param polls the responses to the calls after the submission; the last one is repeated */
function open(
  polls: readonly (() => Response)[],
  {
    submission = () => ok({ id: "1" }),
    channel = {},
    earlyMs = 0,
    ...options
  }: {
    submission?: Provider;
    channel?: Partial<ChannelOptions>;
    /** How much too early a timer ends. */
    earlyMs?: number;
  } & Partial<GatewayOptions> = {},
): Bench {
  const time = createVirtualTime();
  const startedAt = time.now();
  const steps: Step[] = [];
  let count = 0;
  const bench = createTestGateway(
    (call) => {
      const { pathname, host } = new URL(call.url);
      const isSubmission = pathname === "/v1/develop";
      steps.push([host === "darkroom.test" ? pathname : call.url, (time.now() - startedAt) / 1000]);
      if (isSubmission) return submission(call);
      const respond = polls[Math.min(count++, polls.length - 1)];
      return respond?.() ?? ok(PENDING);
    },
    {
      families: [darkroom],
      models: { film: { family: "darkroom" } },
      channels: [{ id: "one", family: "darkroom", apiKey: "canary-one", ...channel }],
      billing: { model_details: { film: { pricing_mode: "per-request", model_price: "0.1" } } },
      ...options,
    },
    {
      now: time.now,
      sleep: (ms) => time.sleep(Math.max(0, ms - earlyMs)),
      random: () => 0,
    },
  );
  return {
    ...bench,
    steps,
    ask: (fields = {}, headers = {}) =>
      time.run(bench.post({ model: "film", prompt: "p", ...fields }, headers)),
  };
}

describe("a job that ends well", () => {
  it("is polled after a growing wait, and its last poll is the response", async () => {
    const bench = open([() => ok(PENDING), () => ok(PENDING), () => ok(DONE)]);
    const { status, body } = await bench.ask();

    expect({ status, data: body["data"] }).toEqual({ status: 200, data: [{ url: LINK }] });
    expect(bench.steps).toEqual([
      ["/v1/develop", 0],
      ["/v1/jobs/1", 1],
      ["/v1/jobs/1", 2.1],
      ["/v1/jobs/1", 3.31],
    ]);
    expect(bench.records).toMatchObject([
      { images: 1, charge: "0.1", upstreamRequestId: "1", attempts: [{ channel: "one", status: 200 }] },
    ]);
    expect(bench.records[0]?.attempts).toHaveLength(1);
  });

  it("has its result fetched at once, if that is a call of its own", async () => {
    const bench = open([() => ok({ state: "done" }), () => ok(DONE)], { channel: { dialect: "fetched" } });
    expect((await bench.ask()).body["data"]).toEqual([{ url: LINK }]);
    expect(bench.steps.map(([call]) => call)).toEqual(["/v1/develop", "/v1/jobs/1", "/v1/jobs/1/result"]);
    expect(bench.steps.at(-1)).toEqual(["/v1/jobs/1/result", 1]);
  });

  it.each([
    ["of its submission", DONE, "0.03"],
    ["of its result, if both report one", { ...DONE, cost: "0.05" }, "0.05"],
  ])("has the cost %s in the record", async (_where, result, cost) => {
    const bench = open([() => ok(result)], { submission: () => ok({ id: "1", cost: "0.03" }) });
    await bench.ask();
    expect(bench.records).toMatchObject([{ usage: { cost_usd: cost }, images: 1, charge: "0.1" }]);
  });

  it("is waited for as long as the provider asks", async () => {
    const bench = open([() => ok({ ...PENDING, wait: 20 }), () => ok(DONE)]);
    await bench.ask();
    expect(bench.steps.map(([, at]) => at)).toEqual([0, 1, 21]);
  });

  it("may have a result of megabytes", async () => {
    const large = { ...DONE, note: "x".repeat(2_000_000) };
    const bench = open([() => ok({ state: "done" }), () => ok(large)], { channel: { dialect: "fetched" } });
    expect((await bench.ask()).body["data"]).toEqual([{ url: LINK }]);
    expect(bench.records).toMatchObject([{ images: 1, charge: "0.1", upstreamRequestId: "1" }]);
  });

  it("is made several times for several images, on one hold and one record", async () => {
    let jobs = 0;
    const bench = open([() => ok(DONE)], { submission: () => ok({ id: `t${++jobs}`, cost: "0.03" }) });
    const { status, body } = await bench.ask({ n: 3 });

    expect({ status, data: body["data"] }).toEqual({
      status: 200,
      data: [{ url: LINK }, { url: LINK }, { url: LINK }],
    });
    expect(bench.records).toMatchObject([
      { images: 3, charge: "0.3", usage: { cost_usd: "0.09" }, upstreamRequestIds: ["t1", "t2", "t3"] },
    ]);
  });

  it("becomes a stream for a client of the openai format", async () => {
    const bench = open([() => ok(DONE)], { streamFormat: "openai" });
    const { text } = await bench.ask({ stream: true });
    expect(text).toContain("event: image_generation.completed");
    expect(text).toContain(LINK);
    expect(bench.records).toMatchObject([{ images: 1, charge: "0.1" }]);
  });
});

describe("a poll that fails is repeated, and nothing is submitted again", () => {
  it.each<readonly [string, () => Response]>([
    ["500", () => Response.json({}, { status: 500 })],
    ["503", () => Response.json({}, { status: 503 })],
    ["a page of a proxy", () => new Response("<html>")],
    ["JSON that is not an object", () => Response.json([])],
    ["more than a megabyte", () => ok({ note: "x".repeat(2_000_000) })],
    [
      "a broken connection",
      () => {
        throw new TypeError("fetch failed");
      },
    ],
    ["404, because the provider does not know it yet", () => Response.json({}, { status: 404 })],
    ["401", () => Response.json({}, { status: 401 })],
  ])("%s", async (_name, poll) => {
    const bench = open([poll, poll, () => ok(DONE)], {
      channels: [
        { id: "one", family: "darkroom", apiKey: "canary-one", priority: 1 },
        { id: "two", family: "darkroom", apiKey: "canary-two" },
      ],
    });
    expect((await bench.ask()).status).toBe(200);
    expect(bench.steps.map(([call]) => call)).toEqual(["/v1/develop", ...Array(3).fill("/v1/jobs/1")]);
    expect(bench.logs).toMatchObject([{ level: "warn", fields: { channel: "one", job: "1" } }]);
  });

  it("after the time that a 429 names", async () => {
    const headers = { "retry-after": "30" };
    const bench = open([() => Response.json({}, { status: 429, headers }), () => ok(DONE)]);
    await bench.ask();
    expect(bench.steps.map(([, at]) => at)).toEqual([0, 1, 31]);
  });
});

interface Ending {
  readonly submission?: object;
  readonly polls: readonly (() => Response)[];
  readonly dialect?: string;
  readonly status: number;
  readonly code: string;
  readonly record: object;
}

const gone = (): Response => Response.json({ why: "gone" }, { status: 404 });
const refused = (): Response => Response.json({ why: "nude" }, { status: 422 });

describe("after a submission was accepted, no end leads to another channel", () => {
  it.each<readonly [string, Ending]>([
    [
      "refused for its content",
      {
        polls: [() => ok({ state: "failed", kind: "content", why: "nude" })],
        status: 400,
        code: "nude",
        record: { status: 400, charge: "0" },
      },
    ],
    [
      "failed, with a cost",
      {
        polls: [() => ok({ state: "failed", why: "boom", cost: "0.01" })],
        status: 502,
        code: "boom",
        record: { status: 502, charge: "0", usage: { cost_usd: "0.01" } },
      },
    ],
    [
      "failed because the provider has no room",
      {
        polls: [() => ok({ state: "failed", kind: "rate", why: "busy" })],
        status: 429,
        code: "busy",
        record: { status: 429, charge: "0" },
      },
    ],
    [
      "not done in time",
      {
        submission: { id: "1", cost: "0.03" },
        polls: [() => ok(PENDING)],
        status: 504,
        code: "upstream_timeout",
        record: { status: 504, charge: "0", usage: { cost_usd: "0.03" } },
      },
    ],
    [
      "not known any more",
      { polls: [gone], status: 502, code: "gone", record: { status: 502, charge: "0" } },
    ],
    [
      "a result that is refused for its content",
      {
        polls: [() => ok({ state: "done" }), refused],
        dialect: "fetched",
        status: 422,
        code: "nude",
        record: { status: 422, charge: "0" },
      },
    ],
    [
      "a result that the provider does not know any more",
      {
        polls: [() => ok({ state: "done" }), gone],
        dialect: "fetched",
        status: 502,
        code: "gone",
        record: { status: 502, charge: "0" },
      },
    ],
    [
      "done without an image",
      {
        polls: [() => ok({ state: "done" })],
        status: 502,
        code: "upstream_no_image",
        record: { status: 502, charge: "0" },
      },
    ],
    [
      "a submission without an id",
      {
        submission: {},
        polls: [],
        status: 502,
        code: "upstream_invalid_response",
        record: { status: 502, charge: "0" },
      },
    ],
    [
      "data that is too long to be stored",
      {
        submission: { id: "1", link: "x".repeat(5_000) },
        polls: [],
        status: 502,
        code: "upstream_invalid_response",
        record: { status: 502, charge: "0" },
      },
    ],
  ])("%s", async (_name, { submission = { id: "1" }, polls, dialect, status, code, record }) => {
    const bench = open(polls, {
      submission: () => ok(submission),
      channels: [
        { id: "one", family: "darkroom", dialect, apiKey: "canary-one", priority: 1, retryUnsafe: true },
        { id: "two", family: "darkroom", apiKey: "canary-two" },
      ],
    });
    const response = await bench.ask();

    expect(response).toMatchObject({ status, body: { error: { code } } });
    expect(bench.steps.filter(([call]) => call === "/v1/develop")).toHaveLength(1);
    expect(bench.records).toMatchObject([{ ...record, images: 0, channel: "one" }]);
    const id = "id" in submission && !("link" in submission) ? "1" : undefined;
    expect(bench.records[0]?.upstreamRequestId).toBe(id);
  });
});

it("the failure of an accepted job is that of the request, also after another channel failed worse", async () => {
  const bench = open([() => ok({ state: "failed", kind: "rate", why: "busy" })], {
    submission: ({ headers }) =>
      headers.get("x-key") === "canary-one" ? Response.json({}, { status: 500 }) : ok({ id: "2" }),
    channels: [
      { id: "one", family: "darkroom", apiKey: "canary-one", priority: 1, retryUnsafe: true },
      { id: "two", family: "darkroom", apiKey: "canary-two" },
    ],
  });
  expect(await bench.ask()).toMatchObject({ status: 429, body: { error: { code: "busy" } } });
  expect(bench.records).toMatchObject([{ channel: "two", errorCode: "busy", upstreamRequestId: "2" }]);
});

describe("a job whose provider refuses to tell about it", () => {
  it.each<readonly [string, readonly (() => Response)[], number, number]>([
    ["five times in a row fails", [...Array(5).fill(gone), () => ok(DONE)], 502, 5],
    [
      "four times, and then again after it told",
      [...Array(4).fill(gone), () => ok(PENDING), ...Array(4).fill(gone), () => ok(DONE)],
      200,
      10,
    ],
  ])("%s", async (_how, polls, status, count) => {
    const bench = open(polls, { channel: { timeouts: { firstByteSeconds: 3_600 } } });
    expect((await bench.ask()).status).toBe(status);
    expect(bench.steps.filter(([call]) => call !== "/v1/develop")).toHaveLength(count);
  });
});

it.each([
  [
    "of a submission that is too long",
    () => new Response(`{"id":"${"1".repeat(2_000_000)}`),
    ["POST /v1/develop"],
  ],
  [
    "to a poll that failed, and to the cancellation",
    () => ok({ id: "1" }),
    ["GET /v1/jobs/1", "DELETE /v1/jobs/1"],
  ],
])("a response that is not read is ended: %s", async (_which, submit, expected) => {
  const ended: string[] = [];
  const bench = open([], {
    channel: { dialect: "fetched", timeouts: { firstByteSeconds: 1.5 } },
    async fetch(url, { method = "GET", signal }) {
      signal?.addEventListener("abort", () => ended.push(`${method} ${new URL(url).pathname}`));
      return method === "POST" ? submit() : new Response("", { status: 500 });
    },
  });
  await bench.ask();
  expect([...new Set(ended)]).toEqual(expected);
});

it("a submission that is refused with a 2xx status goes to another channel", async () => {
  let submissions = 0;
  const submission = (): Response =>
    ok(++submissions === 1 ? { refused: { kind: "rate", why: "busy" } } : { id: "2" });
  const bench = open([() => ok(DONE)], {
    submission,
    channels: [
      { id: "one", family: "darkroom", apiKey: "canary-one", priority: 1 },
      { id: "two", family: "darkroom", apiKey: "canary-two" },
    ],
  });
  expect((await bench.ask()).status).toBe(200);
  expect(bench.records).toMatchObject([{ channel: "two", attempts: [{ code: "busy" }, { status: 200 }] }]);
});

describe("the end of a job's time", () => {
  it("is that of the channel, and the job is polled once more at its end", async () => {
    const bench = open([() => ok({ ...PENDING, wait: 7 })], {
      channel: { timeouts: { firstByteSeconds: 20 } },
    });
    expect((await bench.ask()).status).toBe(504);
    expect(bench.steps.map(([, at]) => at)).toEqual([0, 1, 8, 15, 20]);
  });

  it("has one last poll, also if the timer ends a millisecond before it", async () => {
    const bench = open([() => ok({ ...PENDING, wait: 60 })], {
      channel: { timeouts: { firstByteSeconds: 20 } },
      earlyMs: 1,
    });
    expect((await bench.ask()).status).toBe(504);
    expect(bench.steps.map(([, at]) => at)).toEqual([0, 0.999, 19.999]);
  });

  it("cancels the job if the provider can", async () => {
    const bench = open([() => ok(PENDING)], {
      channel: { dialect: "fetched", timeouts: { firstByteSeconds: 2 } },
    });
    await bench.ask();
    expect(bench.calls.at(-1)?.url).toBe("https://darkroom.test/v1/jobs/1");
    expect(bench.steps.map(([, at]) => at)).toEqual([0, 1, 2, 2]);
  });
});

describe("the key goes to the channel's own hosts only", () => {
  it.each([
    ["another host", "https://elsewhere.test/jobs/1", false],
    ["plain http", "http://eu.darkroom.test/jobs/1", false],
    ["a host of the dialect", "https://eu.darkroom.test/jobs/1", true],
    ["the channel's own", "https://darkroom.test/jobs/1", true],
  ])("%s: %s", async (_name, link, isAsked) => {
    const bench = open([() => ok(DONE)], { submission: () => ok({ id: "1", link }) });
    expect((await bench.ask()).status).toBe(isAsked ? 200 : 502);
    const polls = bench.calls.filter(({ url }) => !url.endsWith("/develop"));
    expect(polls.map(({ url, headers }) => [url, headers.get("x-key")])).toEqual(
      isAsked ? [[link, "canary-one"]] : [],
    );
  });
});

describe("the health of a channel", () => {
  it.each<readonly [string, readonly (() => Response)[], "cooling" | "ready"]>([
    ["jobs that fail make it cool", [() => ok({ state: "failed", why: "boom" })], "cooling"],
    ["refused content does not", [() => ok({ state: "failed", kind: "content", why: "nude" })], "ready"],
  ])("%s", async (_name, polls, expected) => {
    const bench = open(polls);
    for (let request = 0; request < 3; request++) await bench.ask();
    const { channels } = bench.gateway.status();
    expect(channels[0]?.state).toBe(expected);
  });
});

it("a client that leaves does not end the job", async () => {
  const leaving = new AbortController();
  const time = createVirtualTime();
  const polls: number[] = [];
  const bench = createTestGateway(
    ({ url }) => {
      if (url.endsWith("/develop")) return ok({ id: "1" });
      leaving.abort();
      return ok(polls.push(time.now()) < 5 ? PENDING : DONE);
    },
    {
      families: [darkroom],
      models: { film: { family: "darkroom" } },
      channels: [{ id: "one", family: "darkroom", apiKey: "canary-one" }],
    },
    { now: time.now, sleep: time.sleep },
  );
  const request = new Request("http://gateway.test/v1/images/generations", {
    method: "POST",
    headers: { authorization: "Bearer caller-canary-b1946ac9", "content-type": "application/json" },
    body: JSON.stringify({ model: "film", prompt: "p" }),
    signal: leaving.signal,
  });
  await time.run(bench.gateway.fetch(request).then((response) => response.text()));
  await bench.gateway.close();

  expect(polls).toHaveLength(5);
  expect(bench.records).toMatchObject([{ images: 1, status: 200 }]);
});

it("a gateway that closes stops to wait, and leaves the hold of the request to the next one", async () => {
  const bench = createTestGateway(({ url }) => ok(url.endsWith("/develop") ? { id: "1" } : PENDING), {
    families: [quickDarkroom],
    models: { film: { family: "darkroom" } },
    channels: [{ id: "one", family: "darkroom", apiKey: "canary-one" }],
  });
  const responding = bench.post({ model: "film", prompt: "p" });
  while (bench.calls.length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
  await bench.gateway.close({ deadlineSeconds: 0.01 });
  expect((await responding).status).toBe(502);
  const count = bench.calls.length;
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(bench.calls).toHaveLength(count);
  expect([...bench.records, ...bench.unresolved]).toEqual([]);
});

it("the probe of a channel waits for its job", async () => {
  const bench = open([() => ok(DONE)]);
  const probing = bench.gateway.probeChannel("one", { fields: { prompt: "p" } });
  expect(await bench.ask()).toMatchObject({ status: 200 });
  expect(await probing).toMatchObject({ ok: true, keys: [{ images: 1 }] });
});

it("a family and an observer may use the names of older versions", async () => {
  const { jobs, ...others } = darkroom;
  const accepted: string[] = [];
  const family: Family = {
    ...others,
    tasks: jobs && {
      ...jobs,
      readSubmission(body, request) {
        const submission = jobs.readSubmission(body, request);
        return "job" in submission ? { task: submission.job } : submission;
      },
    },
  };
  const taskAccepted = (id: string): void => void accepted.push(id);
  const { ask, steps } = open([() => ok(DONE)], {
    families: [family],
    telemetry: { callStarted: () => ({ attemptStarted: () => ({ taskAccepted }) }) },
  });

  expect((await ask()).status).toBe(200);
  expect(steps.map(([call]) => call)).toEqual(["/v1/develop", "/v1/jobs/1"]);
  expect(accepted).toEqual(["1"]);
});
