import { expect, it } from "vitest";
import { formatAmount, formatLargeAmount } from "./format.js";

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
  ["0.0004", "0.0004"],
  ["999.123", "999.123"],
  ["1234.567", "1,234.57"],
  ["22265265.709", "22,265,266"],
])("formatLargeAmount(%j) is %j", (amount, shown) => {
  expect(formatLargeAmount(amount, "en")).toBe(shown);
});
