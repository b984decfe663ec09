import { describe, expect, it } from "vitest";
import { startCpuClock } from "../testing/cpu-clock.js";
import { readPrefer } from "./prefer.js";

const read = (prefer?: string): object => readPrefer(new Headers(prefer === undefined ? {} : { prefer }));

describe("readPrefer", () => {
  it.each<[string | undefined, boolean, number | undefined]>([
    [undefined, false, undefined],
    ["", false, undefined],
    [",,;, ", false, undefined],
    ["respond-async", true, undefined],
    ["Respond-Async", true, undefined],
    ["  respond-async  ", true, undefined],
    ["respond-async; x=1", true, undefined],
    ["respond-async;", true, undefined],
    // An empty value is the same as none (RFC 7240, section 2).
    ['respond-async=""', true, undefined],
    ["respond-async=", true, undefined],
    ["respond-async, wait=10", true, 10],
    ["wait=10,respond-async", true, 10],
    ["return=minimal, respond-async", true, undefined],
    ["wait=0", false, 0],
    ["wait = 10", false, 10],
    ['wait="10"', false, 10],
    ['WAIT="1\\0"', false, 10],
    ["wait=10; foo=bar, handling=lenient", false, 10],
    ["wait=999999999", false, 999_999_999],
    // Of several the first counts, also if it is not valid.
    ["wait=10, wait=20", false, 10],
    ["wait=soon, wait=20", false, undefined],
    ["wait", false, undefined],
    ["wait=", false, undefined],
    ["wait=-1", false, undefined],
    ["wait=1.5", false, undefined],
    ["wait=1e3", false, undefined],
    ["wait=9999999999", false, undefined],
    ["wait=Infinity", false, undefined],
    // Inside of another preference it is not one.
    ['foo="respond-async"', false, undefined],
    ['foo="a, respond-async, wait=5"', false, undefined],
    ['foo="\\", respond-async"', false, undefined],
    ["foo; respond-async", false, undefined],
    ["x=respond-async", false, undefined],
    ["respond-async=false", false, undefined],
    ["respond-asynchronously", false, undefined],
    // A quoted string without an end takes everything behind it.
    ['foo="bar, respond-async', false, undefined],
    ["wait 10, respond-async", true, undefined],
    ["=10, respond-async", true, undefined],
    ["__proto__=1, respond-async", true, undefined],
  ])("%j", (prefer, respondAsync, wait) => {
    expect(read(prefer)).toEqual({ respondAsync, wait });
  });

  it.each(['"', '\\"', 'a="', ",", " ", "a ", "wait=1,", ";", "=", '"\\'])(
    "reads a header that repeats %j thousands of times at once",
    (part) => {
      const repeated = part.repeat(60_000 / part.length);
      const cpuMs = startCpuClock();
      for (const header of [repeated, `a=${repeated}"`, `a${repeated}=b`]) {
        expect(read(header)).toMatchObject({ respondAsync: false });
      }
      expect(cpuMs()).toBeLessThan(500);
    },
  );
});
