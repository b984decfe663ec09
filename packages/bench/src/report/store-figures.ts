import { describeRun, type StoredRun } from "../stored-run.ts";
import type { RedisTimes } from "../stores/redis.ts";
import type { StoresResults } from "../stores.ts";
import { type Figures, formatAbout, formatBytes, formatCount, formatTime } from "./format.ts";
import { renderRows } from "./render-tables.ts";

const MICRO = 1000;

/** The CPU time of a request in Redis, in milliseconds: its admission and its end. */
export function redisCpuMsOf({
  redis,
}: StoresResults): Readonly<Record<"admit" | "finish" | "incr", number>> {
  const { incr, admit, finish } = findTimes(redis.times, 32).cpuMicros;
  return { incr: incr / MICRO, admit: admit / MICRO, finish: finish / MICRO };
}

const micros = (value: number): string => formatTime(value / MICRO);

/** The figures of a run with Redis and SQLite. */
export function createStoreFigures(run: StoredRun<StoresResults>): Figures {
  const { redis, sqlite } = run.results;
  const rows = redis.times.map((times) => [
    `\`${times.client}\`, ${times.atOnce === 1 ? "one after another" : `${times.atOnce} in parallel, for each call`}`,
    ...(["incr", "admit", "finish"] as const).map(
      (kind) => `${micros(times.micros[kind])} (${micros(times.cpuMicros[kind])})`,
    ),
  ]);
  const alone = findTimes(redis.times, 1);
  const parallel = findTimes(redis.times, 32);
  const cpuMs = redisCpuMsOf(run.results);
  return {
    redis: [
      renderRows([["Client and load", "`INCR`", "admission", "end of a request"], ...rows]),
      "",
      `${describeRun(run)} Redis ${redis.version}.`,
    ].join("\n"),
    "redis-alone": `${micros(alone.micros.admit)} and ${micros(alone.micros.finish)}`,
    "redis-parallel": `${micros(parallel.micros.admit)} and ${micros(parallel.micros.finish)}`,
    "redis-most": formatAbout(1000 / (cpuMs.admit + cpuMs.finish)),
    "redis-caller": formatBytes(redis.bytes.caller),
    "redis-running-key": formatBytes(redis.bytes.runningKey),
    "redis-stored-response": formatBytes(redis.bytes.storedResponse),
    "redis-stored-responses": formatBytes(redis.bytes.storedResponse * 100_000),
    "sqlite-alone": formatTime(sqlite.aloneMs),
    "sqlite-rates": sqlite.rates
      .map(({ perSecond, atOnce }) => `${formatCount(perSecond)} with ${atOnce} in parallel`)
      .join(", "),
    "sqlite-record": formatBytes(sqlite.bytesPerRecord),
    "stores-run": describeRun(run),
  };
}

function findTimes(times: readonly RedisTimes[], inParallel: number): RedisTimes {
  const found = times.find(({ client, atOnce }) => client === "ioredis" && atOnce === inParallel);
  if (found === undefined) throw new Error("The run lacks the times of ioredis.");
  return found;
}
