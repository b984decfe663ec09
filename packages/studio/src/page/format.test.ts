import { afterEach, expect, it, vi } from "vitest";
import {
  formatAmount,
  formatBytes,
  formatClock,
  formatDuration,
  formatRelative,
  formatSeconds,
  formatShort,
  placesOf,
} from "./format.js";

afterEach(() => vi.useRealTimers());

it.each([
  ["0", "0"],
  ["0.0000000000000000001234567", "0.0000000000000000001234567"],
  ["999.5", "999.5"],
  ["1000", "1,000"],
  ["-1234567.8901234", "-1,234,567.8901234"],
  ["123456789012345678901.5", "123,456,789,012,345,678,901.5"],
])("formatAmount(%j) is %j, with each of its digits", (amount, shown) => {
  expect(formatAmount(amount)).toBe(shown);
});

it.each([
  ["0", "0", 0],
  ["1.00", "1", 0],
  ["0.6000", "0.6", 1],
  ["0.0004", "0.0004", 4],
  ["0.00005", "0.0001", 4],
  ["0.0000499", "<0.0001", 4],
  ["-0.0000001", ">-0.0001", 4],
  ["5.37589632", "5.3759", 4],
  ["0.03997696", "0.04", 2],
  ["999.99996", "1,000", 0],
  ["1234.567", "1,234.57", 2],
  ["-22265265.709", "-22,265,266", 0],
  ["123456789012345678901.5", "123,456,789,012,345,678,902", 0],
])("formatShort(%j) is %j, with %i decimals", (amount, shown, places) => {
  expect(formatShort(amount)).toBe(shown);
  expect(placesOf(["0", undefined, null, amount])).toBe(places);
});

it.each([
  [0, "1 sec. ago", "1秒前"],
  [-400, "1 sec. ago", "1秒前"],
  [400, "in 1 sec.", "1秒后"],
  [59_000, "in 59 sec.", "59秒后"],
  [59_800, "in 1 min.", "1分钟后"],
  [-1_800_000, "30 min. ago", "30分钟前"],
  [3_596_000, "in 1 hr.", "1小时后"],
  [-86_390_000, "yesterday", "昨天"],
])("a time %i ms from now is %j", (milliseconds, en, zh) => {
  const now = Date.parse("2026-11-23T12:00:00Z");
  vi.useFakeTimers({ now, toFake: ["Date"] });
  const iso = new Date(now + milliseconds).toISOString();

  expect([formatRelative(iso, "en"), formatRelative(iso, "zh")]).toEqual([en, zh]);
});

it.each([
  [0, "0s", "0"],
  [0.4, "0ms", "<\u20090.1"],
  [23, "23ms", "<\u20090.1"],
  [50, "0.1s", "0.1"],
  [12_340, "12.3s", "12.3"],
  [75_600, "76s", "75.6"],
])("a duration of %d ms is %j, and %j in a column of seconds", (milliseconds, text, column) => {
  expect([formatDuration(milliseconds, "en"), formatSeconds(milliseconds, "en")]).toEqual([text, column]);
});

it.each([
  [1, "1 kB"],
  [1_001, "2 kB"],
  [999_999, "1,000 kB"],
  [12_345_678, "12.3 MB"],
])("formatBytes(%j) is %j", (bytes, shown) => {
  expect(formatBytes(bytes, "en")).toBe(shown);
});

it("the time at which something was read has a date only on another day", () => {
  const now = new Date(2026, 10, 24, 9, 5).getTime();
  vi.useFakeTimers({ now, toFake: ["Date"] });

  expect(formatClock(now, "en")).toMatch(/^9:05\sAM$/);
  expect(formatClock(now - 86_400_000, "en")).toMatch(/^Nov 23, 9:05\sAM$/);
});
