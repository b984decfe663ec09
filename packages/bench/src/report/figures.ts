import type { ProcessesResults } from "../ledger-processes.ts";
import { listStored, readRun, type StoredRun } from "../stored-run.ts";
import type { StoresResults } from "../stores.ts";
import type { YearsResults } from "../years.ts";
import type { Figures } from "./format.ts";
import { createGatewayFigures, readCosts, readGatewayRun } from "./gateway-figures.ts";
import { createLedgerFigures, findRate, findServerCpuMs, findSingleCallerRate } from "./ledger-figures.ts";
import { createSizingFigures } from "./sizing-figures.ts";
import { createStoreFigures, redisCpuMsOf } from "./store-figures.ts";
import { createYearsFigures, recordBytesOf } from "./years-figures.ts";

/** The figures of all stored runs. Each of them is computed once, so two documents cannot show different ones. */
export function readFigures(): Figures {
  const gateway = readGatewayRun();
  const stores = readRun<StoresResults>("stores");
  const processes = readRun<ProcessesResults>("processes");
  const [smallYears, largeYears] = readYears();
  return {
    ...createGatewayFigures(gateway),
    ...createStoreFigures(stores),
    ...createLedgerFigures(processes),
    ...createYearsFigures(smallYears, largeYears),
    ...createSizingFigures({
      gateway: readCosts(gateway),
      redisCpuMs: redisCpuMsOf(stores.results),
      redisCallerBytes: stores.results.redis.bytes.caller,
      storedResponseBytes: stores.results.redis.bytes.storedResponse,
      ledgerRate: findRate(processes.results),
      ledgerSingleCallerRate: findSingleCallerRate(processes.results),
      ledgerCpuMs: findServerCpuMs(processes.results),
      recordBytes: recordBytesOf(largeYears.results),
    }),
  };
}

/** The runs with the fewest and the most records. */
function readYears(): readonly [StoredRun<YearsResults>, StoredRun<YearsResults>] {
  const runs = listStored()
    .filter((name) => name.startsWith("years-"))
    .map((name) => readRun<YearsResults>(name))
    .toSorted((one, other) => one.results.records - other.results.records);
  const [small, large] = [runs[0], runs.at(-1)];
  if (small === undefined || large === undefined) throw new Error("No run with years of records is stored.");
  return [small, large];
}
