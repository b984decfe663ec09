import { describe, expect, it } from "vitest";
import { createAttemptHistory, type FailedAttempt } from "./attempt-history.js";

const START = Date.parse("2026-11-21T09:02:00Z");
const MINUTE_MS = 60_000;

function open() {
  const clock = { now: START };
  return { clock, history: createAttemptHistory(() => clock.now) };
}

const attempt = (code: string, more: Partial<FailedAttempt> = {}): FailedAttempt => ({
  failure: { kind: "server", status: 500, code, message: "It failed." },
  upstreamModel: "ep-1",
  ...more,
});

describe("the attempts of a channel", () => {
  it("are counted in parts of five minutes, the last one of which has not ended", () => {
    const { clock, history } = open();
    history.succeeded("c");
    history.failed("c", attempt("A"));
    clock.now += 5 * MINUTE_MS;
    history.succeeded("c");

    const { lastHour } = history.describe("c");
    expect(lastHour).toHaveLength(12);
    expect(lastHour[0]).toEqual({ from: "2026-11-21T08:10:00.000Z", attempts: 0, failures: 0 });
    expect(lastHour.slice(-2)).toEqual([
      { from: "2026-11-21T09:00:00.000Z", attempts: 2, failures: 1 },
      { from: "2026-11-21T09:05:00.000Z", attempts: 1, failures: 0 },
    ]);
  });

  it("are forgotten after an hour, also without attempts in between", () => {
    const { clock, history } = open();
    history.failed("c", attempt("A"));
    clock.now += 55 * MINUTE_MS;
    expect(history.describe("c").lastHour[0]).toMatchObject({ attempts: 1, failures: 1 });
    clock.now += 5 * MINUTE_MS;
    expect(history.describe("c").lastHour.every(({ attempts }) => attempts === 0)).toBe(true);
    history.succeeded("c");
    expect(history.describe("c").lastHour.at(-1)).toMatchObject({ attempts: 1, failures: 0 });
  });

  it("count once if a response that began with success broke off", () => {
    const { clock, history } = open();
    history.succeeded("c");
    clock.now += 5 * MINUTE_MS;
    history.failed("c", attempt("A"), START);
    expect(history.describe("c").lastHour.slice(-2)).toMatchObject([
      { attempts: 1, failures: 1 },
      { attempts: 0, failures: 0 },
    ]);
    clock.now += 60 * MINUTE_MS;
    history.succeeded("c");
    history.failed("c", attempt("B"), START);
    expect(history.describe("c").lastHour.at(-1)).toMatchObject({ attempts: 1, failures: 0 });
  });

  it("have five errors at most, the newest first, with short texts", () => {
    const { clock, history } = open();
    for (let index = 1; index <= 7; index++) {
      clock.now = START + index * 1000;
      history.failed("c", attempt(String(index), { requestId: `req-${index}` }));
    }
    history.failed("other", attempt("x".repeat(1_000)));

    const { errors } = history.describe("c");
    expect(errors.map(({ code }) => code)).toEqual(["7", "6", "5", "4", "3"]);
    expect(errors[0]).toEqual({
      time: "2026-11-21T09:02:07.000Z",
      kind: "server",
      status: 500,
      code: "7",
      message: "It failed.",
      upstreamModel: "ep-1",
      requestId: "req-7",
    });
    expect(history.describe("other").errors[0]?.code).toHaveLength(128);
  });

  it("are forgotten when the channel is not in the options any more", () => {
    const { history } = open();
    history.failed("c", attempt("A"));
    history.retain(["other"]);
    expect(history.describe("c").errors).toEqual([]);
    expect(history.describe("c").lastHour.at(-1)).toMatchObject({ attempts: 0 });
  });
});
