import { expect, it } from "vitest";
import { createRandom } from "../fleet-simulation/create-random.js";
import { canUse, POSTGRES, urlOf } from "../support/service.js";
import { SEED } from "../support/test-run.js";
import { findProblems } from "./check-history.js";
import { drawRound } from "./draw-round.js";

const MINUTES_MS = 600_000;
/** The time of the last round. */
const GRACE_MS = 300_000;
const hasPostgres = await canUse(POSTGRES, urlOf(POSTGRES));

it(
  `one order explains the results of all calls in ten minutes of random rounds (seed ${SEED})`,
  async () => {
    const random = createRandom(SEED, "histories");
    const end = Date.now() + MINUTES_MS;
    while (Date.now() < end) {
      const round = drawRound(random, hasPostgres);
      expect({ round, problems: await findProblems(round) }).toEqual({ round, problems: [] });
    }
  },
  MINUTES_MS + GRACE_MS,
);
