import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { writeSpan } from "./bucket-text.js";

beforeEach(() => {
  vi.stubEnv("TZ", "Europe/London");
  vi.useFakeTimers({ now: Date.parse("2026-11-23T12:00:00Z"), toFake: ["Date"] });
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

it.each([
  [
    "an hour",
    "2026-11-23T09:00Z",
    "2026-11-23T10:00Z",
    "Mon, Nov 23, 9 AM – 10 AM",
    "11月23日周一 9:00 – 10:00",
  ],
  [
    "the first hour",
    "2026-11-23T00:00Z",
    "2026-11-23T01:00Z",
    "Mon, Nov 23, 12 AM – 1 AM",
    "11月23日周一 0:00 – 1:00",
  ],
  [
    "the last hour",
    "2026-11-22T23:00Z",
    "2026-11-23T00:00Z",
    "Sun, Nov 22, 11 PM – 12 AM",
    "11月22日周日 23:00 – 0:00",
  ],
  [
    "minutes",
    "2026-11-23T09:30Z",
    "2026-11-23T10:00Z",
    "Mon, Nov 23, 9:30 AM – 10:00 AM",
    "11月23日周一 9:30 – 10:00",
  ],
  ["a day that is not over", "2026-11-23T00:00Z", "2026-11-23T10:00Z", "Mon, Nov 23", "11月23日周一"],
  ["a day", "2026-11-22T00:00Z", "2026-11-23T00:00Z", "Sun, Nov 22", "11月22日周日"],
  ["days", "2026-11-16T00:00Z", "2026-11-23T00:00Z", "Mon, Nov 16 – Sun, Nov 22", "11/16周一至11/22周日"],
  [
    "hours of two days",
    "2026-11-22T22:00Z",
    "2026-11-23T02:00Z",
    "Sun, Nov 22, 10 PM – Mon, Nov 23, 2 AM",
    "11月22日周日 22:00 – 11月23日周一 2:00",
  ],
  ["a day of another year", "2025-11-22T00:00Z", "2025-11-23T00:00Z", "Nov 22, 2025", "2025年11月22日"],
])("writes %s", (_what, from, to, en, zh) => {
  const write = (language: string) => writeSpan({ from, to }, language).replaceAll(/[\u2009\u202F]/g, " ");

  expect([write("en"), write("zh-Hans")]).toEqual([en, zh]);
});
