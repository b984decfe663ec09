// The clients: sends requests, measures the times of the responses, and fails if a response is incomplete.
import { Pool } from "undici";
import { createClientRequest } from "../client-request.ts";
import { expectationOf } from "../payloads.ts";
import { percentileOf } from "../statistics.ts";
import type { ResponseId } from "../works.ts";
import { compareResponse } from "./compare-response.ts";
import { type Exchange, exchange, type Opened } from "./exchange.ts";
import { endWithParent, replyToParent } from "./parent.ts";

/** The task of the clients. */
export interface LoadOrder {
  /**
   * `run`: requests one after another on each connection. `compare`: one request whose response is compared with what
   * was sent. `open`: streams that stay open. `finish`: waits for their end.
   */
  readonly kind: "run" | "compare" | "open" | "finish";
  readonly origin: string;
  readonly response: ResponseId;
  readonly concurrency: number;
  /** The maximum number of requests. */
  readonly requests: number;
  /** No request is started after this time, in seconds. */
  readonly maxSeconds: number;
  /** The number of callers, which take turns. */
  readonly callers: number;
  /** Additional headers. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The results of the requests. Times are in milliseconds. */
export interface LoadResult {
  readonly completed: number;
  readonly requestsPerSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** Median time to the first byte of the body. */
  readonly firstByte: number;
}

const OPEN_AT_ONCE = 100;
const MAX_SHOWN = 3;

const pools = new Map<string, Pool>();
let opened: Opened[] = [];

endWithParent();
replyToParent((question) => {
  const order: LoadOrder = JSON.parse(question);
  switch (order.kind) {
    case "run":
      return run(order);
    case "compare":
      return compare(order);
    case "open":
      return open(order);
    case "finish":
      return finish(order);
  }
});

function poolFor({ origin, concurrency }: LoadOrder): Pool {
  const name = `${origin} ${concurrency}`;
  const pool =
    pools.get(name) ??
    new Pool(origin, { connections: concurrency, headersTimeout: 120_000, bodyTimeout: 120_000 });
  pools.set(name, pool);
  return pool;
}

/** Prepares exchanges, each with the key of the next caller. */
function createExchanges(order: LoadOrder, keepBody = false): () => Opened {
  const pool = poolFor(order);
  const { path, headers, body } = createClientRequest(order.response);
  const expected = expectationOf(order.response);
  let caller = 0;
  return () => {
    const authorization = `Bearer sk-bench-${caller++ % order.callers}`;
    const request = { path, headers: { ...headers, ...order.headers, authorization }, body };
    return exchange(pool, request, { ...expected, keepBody });
  };
}

async function run(order: LoadOrder): Promise<LoadResult> {
  const next = createExchanges(order);
  const began = performance.now();
  const done: Exchange[] = [];
  let begun = 0;
  const work = async (): Promise<void> => {
    while (begun < order.requests && performance.now() - began < order.maxSeconds * 1000) {
      begun += 1;
      done.push(await next().ended);
    }
  };
  await Promise.all(Array.from({ length: order.concurrency }, work));
  return summarize(done, performance.now() - began);
}

/** Throws an error with the first problems, if a response had problems. */
function summarize(done: readonly Exchange[], elapsedMs: number): LoadResult {
  const problems = done.flatMap(({ problem }) => problem ?? []);
  if (problems.length > 0 || done.length === 0) {
    const shown = problems.slice(0, MAX_SHOWN).join("\n");
    throw new Error(`${problems.length} of ${done.length} requests failed:\n${shown}`);
  }
  const times = done.map(({ totalMs }) => totalMs);
  return {
    completed: done.length,
    requestsPerSecond: (done.length / elapsedMs) * 1000,
    p50: percentileOf(times, 0.5),
    p99: percentileOf(times, 0.99),
    firstByte: percentileOf(
      done.map(({ firstByteMs }) => firstByteMs),
      0.5,
    ),
  };
}

async function compare(order: LoadOrder): Promise<LoadResult> {
  const began = performance.now();
  const one = await createExchanges({ ...order, concurrency: 1 }, true)().ended;
  const result = summarize([one], performance.now() - began);
  compareResponse(order.response, one.body);
  return result;
}

/** Opens streams gradually, and waits until each has begun. */
async function open(order: LoadOrder): Promise<void> {
  const next = createExchanges(order);
  opened = [];
  while (opened.length < order.requests) {
    const batch = Array.from({ length: Math.min(OPEN_AT_ONCE, order.requests - opened.length) }, next);
    opened.push(...batch);
    await Promise.all(batch.map(({ begun }) => begun));
  }
}

async function finish({ maxSeconds }: LoadOrder): Promise<LoadResult> {
  const began = performance.now();
  const timer = setTimeout(() => process.exit(1), maxSeconds * 1000);
  const done = await Promise.all(opened.map(({ ended }) => ended));
  clearTimeout(timer);
  opened = [];
  return summarize(done, performance.now() - began);
}
