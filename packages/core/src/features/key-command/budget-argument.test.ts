import { expect, it } from "vitest";
import { parseBudget, writeBudget } from "./budget-argument.js";

it.each<[string, unknown]>([
  ["50", "50"],
  ["0.5/total", "0.5"],
  ["50/month", { amount: "50", period: "month" }],
  ["50/day/Europe/London", { amount: "50", period: "day", timeZone: "Europe/London" }],
  ["50/week/America/Argentina/Salta", { amount: "50", period: "week", timeZone: "America/Argentina/Salta" }],
])("the budget %s is read, and written so that it reads the same", (written, budget) => {
  expect(parseBudget(written)).toEqual(budget);
  expect(parseBudget(writeBudget(parseBudget(written)))).toEqual(budget);
});

it.each([
  ["", "must be an amount"],
  ["-1", "must be an amount"],
  ["50/", "the periods are day, week, month, total"],
  ["50/year", "the periods are day, week, month, total"],
  ["50/day/Mars", "timeZone must be the name of a time zone"],
  ["50/total/UTC", "timeZone has no effect"],
])("the budget %s is refused", (written, message) => {
  expect(() => parseBudget(written)).toThrow(message);
});
