import { describe, expect, it } from "vitest";
import { GatewayError } from "./errors.js";
import { createEvents, createRequestId, type FailureEvent, type RequestEvent } from "./events.js";
import { createLazyQuery } from "./testing/lazy-query.js";

const TIME = "2026-11-21T03:04:05.006Z";
const REQUEST: RequestEvent = {
  id: "req_1",
  time: TIME,
  operation: "generate",
  status: 200,
  stream: false,
  durationMs: 1,
};
const ERROR: FailureEvent = {
  id: "req_1",
  time: TIME,
  operation: "generate",
  error: new GatewayError("internal_error", "broken"),
};

interface Hooks {
  readonly onRequest?: (event: RequestEvent) => unknown;
  readonly onError?: (event: FailureEvent) => unknown;
}

async function tellBoth(hooks: Hooks): Promise<readonly unknown[]> {
  const lines: unknown[] = [];
  const log = (fields: object, message: string): void => void lines.push({ ...fields, message });
  const events = createEvents(hooks, { warn: log, error: log });
  events.request?.(REQUEST);
  events.error?.(ERROR);
  await new Promise((resolve) => setTimeout(resolve));
  return lines;
}

describe("events", () => {
  it("are passed to the function of their name", async () => {
    const told: unknown[] = [];
    expect(
      await tellBoth({
        onRequest: (event) => told.push(event),
        onError: async (event) => told.push(event),
      }),
    ).toEqual([]);
    expect(told).toEqual([REQUEST, ERROR]);
  });

  it("go nowhere without functions", async () => {
    expect(await tellBoth({})).toEqual([]);
  });

  const err = new Error("the hook is broken");
  it.each<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw err;
      },
    ],
    ["rejects", () => Promise.reject(err)],
    [
      "gives a query of a database library that fails",
      () =>
        createLazyQuery(() => {
          throw err;
        }),
    ],
  ])("are logged and change nothing if a function %s", async (_what, hook) => {
    expect(await tellBoth({ onRequest: hook, onError: hook })).toEqual(
      expect.arrayContaining([
        { requestId: "req_1", err, message: "onRequest failed." },
        { requestId: "req_1", err, message: "onError failed." },
      ]),
    );
  });
});

describe("a request id", () => {
  const ids = Array.from({ length: 10_000 }, createRequestId);

  it("is req_ and 32 hexadecimal digits", () => {
    for (const id of ids) expect(id).toMatch(/^req_[0-9a-f]{32}$/);
  });

  it("is unique", () => {
    expect(new Set(ids).size).toBe(ids.length);
  });
});
