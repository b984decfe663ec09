import type { ProcessesResults } from "../ledger-processes.ts";
import type { Results } from "../results.ts";
import { readRun, readStored } from "../stored-run.ts";
import type { StoresResults } from "../stores.ts";
import type { YearsResults } from "../years.ts";
import type { Figures } from "./format.ts";
import { createGatewayFigures, readCosts } from "./gateway-figures.ts";
import { createLedgerFigures, findRate, findServerCpuMs, findSingleCallerRate } from "./ledger-figures.ts";
import { createSizingFigures } from "./sizing-figures.ts";
import { createStoreFigures, redisCpuMsOf } from "./store-figures.ts";
import { createYearsFigures, recordBytesOf } from "./years-figures.ts";

/** The figures of all stored runs. Each of them is computed once, so two documents cannot show different ones. */
export function readFigures(): Figures {
  const gateway = readStored<Results>("gateway");
  const stores = readRun<StoresResults>("stores");
  const processes = readRun<ProcessesResults>("processes");
  const [smallYears, largeYears] = [readRun<YearsResults>("years-10m"), readRun<YearsResults>("years-30m")];
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
