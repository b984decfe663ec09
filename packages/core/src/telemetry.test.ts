import { describe, expect, it, vi } from "vitest";
import type { AttemptObserver, CallObserver, StartedCall, Telemetry } from "./telemetry.js";
import { ARK_RESPONSE, createTestGateway } from "./testing/test-gateway.js";

const BODY = { model: "doodle", prompt: "a lighthouse" };
const fail = (): never => {
  throw new Error("The telemetry is broken.");
};
const CALL_FUNCTIONS = [
  "callerKnown",
  "modelKnown",
  "held",
  "submitted",
  "attemptStarted",
  "firstImage",
  "failed",
  "responded",
  "holdEnded",
  "ended",
] as const satisfies readonly (keyof CallObserver)[];
const ATTEMPT_FUNCTIONS = ["run", "responded", "failed", "ended"] as const;

const failIn = (names: readonly string[]): object => Object.fromEntries(names.map((name) => [name, fail]));

describe("telemetry that throws", () => {
  it.each<[string, Telemetry]>([
    ["when a call starts", { callStarted: fail }],
    ["when channels are watched", { callStarted: () => undefined, watchChannels: fail }],
    ["in each function of a call", { callStarted: () => failIn(CALL_FUNCTIONS) }],
    [
      "in each function of an attempt",
      { callStarted: () => ({ attemptStarted: () => failIn(ATTEMPT_FUNCTIONS) }) },
    ],
  ])("%s changes no response, and is logged once", async (_, telemetry) => {
    const { post, calls, logs, records } = createTestGateway(undefined, { telemetry });
    const responses = [await post(BODY), await post(BODY)];

    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    expect(calls).toHaveLength(2);
    await vi.waitFor(() => expect(records).toHaveLength(2));
    expect(logs.map(({ message }) => message)).toEqual([
      "The telemetry failed; further failures are not logged.",
    ]);
  });

  it.each<[string, NonNullable<AttemptObserver["run"]>]>([
    [
      "after it has sent",
      (send) => {
        send();
        return fail();
      },
    ],
    [
      "twice",
      (send) => {
        send();
        return send();
      },
    ],
  ])("sends an attempt once if run sends and throws or sends again: %s", async (_, run) => {
    const telemetry: Telemetry = { callStarted: () => ({ attemptStarted: () => ({ run }) }) };
    const { post, calls } = createTestGateway(undefined, { telemetry });

    expect((await post(BODY)).status).toBe(200);
    expect(calls).toHaveLength(1);
  });
});

/** Notes the order of what a call tells. */
function noteCalls(): {
  readonly telemetry: Telemetry;
  readonly notes: string[];
  readonly started: StartedCall[];
} {
  const notes: string[] = [];
  const started: StartedCall[] = [];
  const noteAll = (names: readonly string[], prefix = ""): object =>
    Object.fromEntries(names.map((name) => [name, () => void notes.push(`${prefix}${name}`)]));
  const telemetry: Telemetry = {
    callStarted(call) {
      started.push(call);
      return {
        ...noteAll(CALL_FUNCTIONS),
        attemptStarted: () => noteAll(["responded", "failed", "ended"], "attempt."),
      };
    },
  };
  return { telemetry, notes, started };
}

describe("a call", () => {
  it("ends after its response and its hold", async () => {
    const { telemetry, notes, started } = noteCalls();
    const { post } = createTestGateway(undefined, { telemetry });
    const { headers } = await post(BODY);

    expect(notes).toEqual([
      "callerKnown",
      "modelKnown",
      "held",
      "attempt.responded",
      "holdEnded",
      "attempt.ended",
      "firstImage",
      "responded",
      "ended",
    ]);
    expect(started).toMatchObject([
      { id: headers.get("x-request-id"), operation: "generate", kind: "request" },
    ]);
  });

  it("that is refused has neither an attempt nor a hold", async () => {
    const { telemetry, notes } = noteCalls();
    const { post } = createTestGateway(undefined, { telemetry });
    await post({ ...BODY, model: "unknown" });

    expect(notes).toEqual(["callerKnown", "failed", "responded", "ended"]);
  });

  it("sends the headers of its attempts, which replace none of the gateway", async () => {
    const headers = { traceparent: "00-1", authorization: "Bearer other" };
    const telemetry: Telemetry = { callStarted: () => ({ attemptStarted: () => ({ headers }) }) };
    const { post, calls } = createTestGateway(() => Response.json(ARK_RESPONSE), { telemetry });
    await post(BODY);

    expect(calls[0]?.headers.get("traceparent")).toBe("00-1");
    expect(calls[0]?.headers.get("authorization")).toMatch(/^Bearer ark-canary/);
  });
});

describe("logCalls", () => {
  it("needs a logger with info", () => {
    expect(() => createTestGateway(undefined, { logCalls: true })).toThrow(
      /logCalls needs a logger with the function info/,
    );
  });

  it("writes no line without it", async () => {
    const info = vi.fn<() => void>();
    const { post } = createTestGateway(undefined, { logger: { info, warn() {}, error() {} } });
    await post(BODY);

    expect(info).not.toHaveBeenCalled();
  });
});
