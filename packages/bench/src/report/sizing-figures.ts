import { type Figures, formatAbout, formatBytes, formatCount, formatTime } from "./format.ts";
import type { GatewayCosts } from "./gateway-figures.ts";
import { renderRows } from "./render-tables.ts";

/** The costs of one request, each from a stored run. Times are in milliseconds. */
export interface RequestCosts {
  readonly gateway: GatewayCosts;
  readonly redisCpuMs: Readonly<Record<"admit" | "finish" | "incr", number>>;
  readonly redisCallerBytes: number;
  readonly storedResponseBytes: number;
  /** Requests in a second of one database. */
  readonly ledgerRate: number;
  readonly ledgerSingleCallerRate: number;
  readonly ledgerCpuMs: number;
  readonly recordBytes: number;
}

const RATES = [1_000, 10_000, 100_000];
const SECONDS_OF_DAY = 86_400;
/** What Ark allows for each account and model. */
const IMAGES_PER_MINUTE = 500;
/** How long an image takes. */
const IMAGE_SECONDS = 15;
/** An image of this size in base64. */
const BASE64_BYTES = 4_000_000;
/** Ports of one address that a system gives to clients. */
const PORTS = 28_000;

/** What fleets need, from the costs of one request. */
export function createSizingFigures(costs: RequestCosts): Figures {
  const { gateway, redisCpuMs, ledgerRate, recordBytes, storedResponseBytes } = costs;
  const redisMs = redisCpuMs.admit + redisCpuMs.finish;
  const storedOf = (rate: number, seconds: number): string =>
    formatBytes(rate * seconds * storedResponseBytes);
  return {
    "request-costs": renderCosts(costs),
    "fleet-needs": renderNeeds(costs),
    "stored-responses-of-a-day": storedOf(1_000, SECONDS_OF_DAY),
    "stored-responses-of-an-hour": storedOf(1_000, 3_600),
    "redis-share": `${formatAbout((redisMs * 10_000) / 10)} %`,
    "redis-cores": formatAbout(redisMs * 100),
    "redis-limit": formatAbout(1_000 / redisMs),
    "ledger-databases": formatCount(Math.ceil(10_000 / ledgerRate)),
    "ledger-databases-of-100000": formatCount(Math.ceil(100_000 / ledgerRate)),
    "records-of-100000": formatBytes(100_000 * SECONDS_OF_DAY * recordBytes),
    "memory-of-open-requests": formatBytes(gateway.openBytes * 5_000),
    "source-addresses": formatCount(Math.ceil((100_000 * IMAGE_SECONDS) / PORTS)),
  };
}

function renderCosts(costs: RequestCosts): string {
  const {
    gateway,
    redisCpuMs,
    redisCallerBytes,
    storedResponseBytes,
    ledgerRate,
    ledgerSingleCallerRate,
    ledgerCpuMs,
  } = costs;
  const { links, base64, edit } = gateway.cpuMs;
  return renderRows(
    [
      ["Resource", "Cost of one request", "Source"],
      [
        "Gateway, CPU",
        `${formatTime(links)} for a response with links, ${formatTime(base64)} for 4 MB of \`b64_json\`, ${formatTime(edit)} for an edit with three files of 10 MB`,
        "[performance](performance.md#results)",
      ],
      [
        "Gateway, while the request waits for the provider",
        `${formatBytes(gateway.openBytes)}, and two sockets over HTTP/1.1 (to the client and to the provider)`,
        "[5,000 open streams](performance.md#many-of-everything). TLS needs more.",
      ],
      ["Network", "about 2 kB with links, 4 MB in and 4 MB out with `b64_json`", "The size of the responses"],
      [
        "Redis, CPU",
        `admission ${formatTime(redisCpuMs.admit)}, end ${formatTime(redisCpuMs.finish)} of its one core, a plain \`INCR\` ${formatTime(redisCpuMs.incr)}; two round trips, or one if a request has neither a slot nor an idempotency key`,
        "[Redis](redis.md#what-it-costs)",
      ],
      [
        "Redis, memory",
        `${formatBytes(redisCallerBytes)} for each active caller; ${formatBytes(storedResponseBytes)} for each response with a link that is stored for an idempotency key, by default for a day; up to 256 KiB if the response contains a small image`,
        "[Redis](redis.md#what-it-costs)",
      ],
      [
        "PostgreSQL",
        `one hold and one settlement, combined by each process: ${formatAbout(ledgerRate)} pairs per second, ${formatAbout(ledgerSingleCallerRate)} for a single caller; CPU time of the server from ${formatTime(ledgerCpuMs)} for each`,
        "[PostgreSQL](postgres.md#sizing)",
      ],
      [
        "PostgreSQL, disk",
        `${formatBytes(costs.recordBytes)} for a record with its indexes, without the write-ahead log`,
        "[years of records](postgres.md#years-of-records)",
      ],
    ],
    true,
  );
}

const cores =
  (ms: number) =>
  (rate: number): string =>
    `${formatAbout((rate * ms) / 1000)} cores`;

function renderNeeds(costs: RequestCosts): string {
  const { gateway, redisCpuMs, storedResponseBytes, ledgerRate, recordBytes } = costs;
  const redisMs = redisCpuMs.admit + redisCpuMs.finish;
  const row = (title: string, show: (rate: number) => string): string[] => [title, ...RATES.map(show)];
  return renderRows([
    ["Resource", ...RATES.map((rate) => `${formatCount(rate)}/s`)],
    row(`Accounts of ${IMAGES_PER_MINUTE} images a minute`, (rate) =>
      formatCount((rate * 60) / IMAGES_PER_MINUTE),
    ),
    row(`Open requests, if an image takes ${IMAGE_SECONDS} s`, (rate) => formatCount(rate * IMAGE_SECONDS)),
    row("Sockets to clients and providers", (rate) => formatCount(2 * rate * IMAGE_SECONDS)),
    row("Memory for open requests", (rate) => formatBytes(rate * IMAGE_SECONDS * gateway.openBytes)),
    row("CPU with links", cores(gateway.cpuMs.links)),
    row("CPU with 4 MB `b64_json`", cores(gateway.cpuMs.base64)),
    row(
      "Network with 4 MB `b64_json`, each way",
      (rate) => `${formatCount((rate * BASE64_BYTES * 8) / 1e9)} Gbit/s`,
    ),
    row("Redis, share of one core", (rate) => `${formatAbout((rate * redisMs) / 10)} %`),
    row(`PostgreSQL databases at ${formatAbout(ledgerRate)} pairs per second`, (rate) =>
      formatAbout(rate / ledgerRate),
    ),
    row("Records", (rate) => `${formatBytes(rate * SECONDS_OF_DAY * recordBytes)} a day`),
    row("Stored responses, if every request has an idempotency key", (rate) =>
      formatBytes(rate * SECONDS_OF_DAY * storedResponseBytes),
    ),
  ]);
}
