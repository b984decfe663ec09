import { expect, it } from "vitest";
import { findPollWait, type PollInterval } from "./poll-wait.js";

const START: PollInterval = { polls: 0, failures: 0, random: 0 };

it.each<readonly [string, Partial<PollInterval>, number]>([
  ["waits a second before the first poll", {}, 1_000],
  ["waits what the family says", { pollSeconds: 0.5 }, 500],
  ["grows by a tenth with each poll", { polls: 2 }, 1_210],
  ["grows up to 5 seconds", { polls: 100 }, 5_000],
  ["does not grow above what the family says, if that is more", { pollSeconds: 8, polls: 100 }, 8_000],
  ["doubles with each failure in a row", { failures: 2 }, 4_000],
  ["waits at most 30 seconds after failures", { failures: 10 }, 30_000],
  ["waits as long as the provider asks for", { retryAfterSeconds: 60, polls: 100, failures: 1 }, 60_000],
  ["takes the provider's word that it may ask sooner", { retryAfterSeconds: 0.5, polls: 100 }, 500],
  ["never asks without a pause", { pollSeconds: 0, retryAfterSeconds: 0 }, 100],
  ["adds up to a fifth by chance", { random: 0.5 }, 1_100],
])("%s", (_name, state, ms) => {
  expect(findPollWait({ ...START, ...state })).toBe(ms);
});
