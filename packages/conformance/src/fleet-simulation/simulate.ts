// Simulates a fleet in virtual time and prints what its limits, retries and cooldowns do: see docs/sizing.md.
import { renderCooldowns, renderGoodput, renderLimits, renderOutages } from "./tables.ts";

const seed = Number(process.argv[2] ?? 1);
if (!Number.isSafeInteger(seed)) throw new RangeError("The seed must be a whole number.");
const seeds = Array.from({ length: 8 }, (_, index) => seed + index);

process.stdout.write(`${await renderLimits(seeds)}\n`);
process.stdout.write(`${await renderOutages(seed)}\n`);
process.stdout.write(`${await renderGoodput(seed)}\n`);
process.stdout.write(`${await renderCooldowns(seed)}\n`);
