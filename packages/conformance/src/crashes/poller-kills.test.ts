import { expect, it } from "vitest";
import { isFull, SEED } from "../support/test-run.js";
import { killPollers } from "./kill-pollers.js";

const KILLS = isFull() ? 24 : 4;

it("a server that is killed while it submits and polls jobs of each service sends nothing twice, and loses nothing", {
  timeout: 120_000,
}, async () => {
  const { problems, polled, submitted } = await killPollers({ seed: SEED, kills: KILLS });
  expect({ seed: SEED, problems }).toEqual({ seed: SEED, problems: [] });
  expect(polled).toBeGreaterThan(0);
  expect(submitted).toBeGreaterThanOrEqual(polled);
});
