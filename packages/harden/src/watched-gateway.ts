import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import {
  createGateway,
  createMemoryLedger,
  type Gateway,
  type GatewayOptions,
  type SettledRecord,
} from "@calotype/core";
import type { Transport } from "@calotype/core/testing";
import { QWEN_IMAGE, QWEN_IMAGE_EDIT, QWEN_IMAGE_MAX, SEEDREAM, SEEDREAM_2 } from "./grammar/requests.ts";

/** Keys with values that are easy to find in any output. The test suite searches its output for the same form. */
export const CALLER_KEY = "caller-canary-5b1e90d7";
export const CHANNEL_KEY = "channel-canary-c42f7a16";
const SECRET_HEADER = "header-canary-90aa61fe";
const CANARIES = [CALLER_KEY, CHANNEL_KEY, SECRET_HEADER];

const CALLER = "tester";
/** The price of one image. A multiple of 1/4, so that sums of JavaScript numbers are exact. */
export const PRICE = 0.25;

/** A gateway whose holds, records, log lines and events are noted. */
export interface WatchedGateway {
  readonly gateway: Gateway;
  /** Returns the records that were settled since the last time. */
  takeRecords(): readonly SettledRecord[];
  /** Returns the sum of the holds since the last time. */
  takeHeld(): number;
  /** Waits until every hold has ended. Returns false if one does not end. */
  holdsEnd(): Promise<boolean>;
  /** Returns the log lines, records and events since the last time, as one text. */
  takeOutput(): string;
  /** Closes the gateway. Returns the rule that is broken: it closes, and its ledger agrees with the records. */
  close(): Promise<string | undefined>;
}

/**
 * Opens a gateway with all models of the request grammar and one slot. With a ticker, repeated work runs only when the
 * test says so.
 */
export function openWatchedGateway(
  transport: Transport | undefined,
  options: Partial<GatewayOptions> = {},
  ticker?: Ticker,
): WatchedGateway {
  let output: string[] = [];
  let records: SettledRecord[] = [];
  let charged = 0;
  let held = 0;
  const holds = new Set<string>();
  // Without tasks, which end after their response: the part `tasks` is about them.
  const { tasks: _tasks, ...ledger } = createMemoryLedger();
  const show = (fields: unknown): void => {
    output.push(JSON.stringify(fields, showError));
  };
  const log = (fields: object, message: string): void => show({ message, ...fields });
  const gateway = createGateway(
    {
      models: {
        [SEEDREAM]: { family: "seedream" },
        [SEEDREAM_2]: { family: "seedream" },
        [QWEN_IMAGE]: { family: "qwen-image" },
        [QWEN_IMAGE_EDIT]: { family: "qwen-image" },
        [QWEN_IMAGE_MAX]: { family: "qwen-image" },
      },
      channels: [
        {
          id: "ark",
          family: "seedream",
          apiKey: CHANNEL_KEY,
          baseUrl: "https://ark.example/api/v3",
          headers: { "x-operator": SECRET_HEADER },
          modelMapping: { [SEEDREAM]: "ep-1", [SEEDREAM_2]: "doubao-seedream-4-5-251128" },
        },
        {
          id: "dashscope",
          family: "qwen-image",
          apiKey: CHANNEL_KEY,
          baseUrl: "https://dashscope.example/api/v1",
        },
      ],
      callers: [{ id: CALLER, key: CALLER_KEY }],
      billing: { model_details: { "*": { pricing_mode: "per-request", model_price: String(PRICE) } } },
      limits: { concurrent: 1 },
      ledger: {
        ...ledger,
        async hold(hold) {
          const result = await ledger.hold(hold);
          if (result.ok) {
            holds.add(hold.id);
            held += Number(hold.amount);
          }
          return result;
        },
        async settle(record) {
          await ledger.settle(record);
          holds.delete(record.id);
          records.push(record);
          charged += Number(record.charge);
        },
        async release(id) {
          await ledger.release(id);
          holds.delete(id);
        },
      },
      onUsage: show,
      onError: show,
      onRequest: show,
      logger: { warn: log, error: log },
      ...options,
    },
    { ...(transport && { transport }), ...(ticker && { repeat: ticker.repeat }) },
  );
  return {
    gateway,
    takeRecords() {
      const taken = records;
      records = [];
      return taken;
    },
    takeHeld() {
      const taken = held;
      held = 0;
      return taken;
    },
    holdsEnd: () => waitUntil(() => holds.size === 0),
    takeOutput() {
      if (output.length === 0) return "";
      const taken = output.join("\n");
      output = [];
      return taken;
    },
    async close() {
      if (!(await settles(gateway.close()))) return "gateway.close() returns";
      // The last records are delivered when the gateway closes.
      if (findKeys(`${output.join()}${JSON.stringify(gateway.status())}`).length > 0)
        return "no key is in any output";
      const balance = await gateway.usage.balance(CALLER);
      return Number(balance.held) === 0 && Number(balance.settled) === charged
        ? undefined
        : "after close() nothing is held, and the settled sum is the sum of the charges";
    },
  };
}

/** Runs the repeated work of a gateway without a timer. */
export interface Ticker {
  readonly repeat: (work: () => void, everyMs: number) => () => void;
  /** Runs the repeated work of this number of seconds. */
  pass(seconds: number): Promise<void>;
}

export function createTicker(): Ticker {
  const works = new Set<{ readonly work: () => void; readonly everyMs: number }>();
  let passedMs = 0;
  return {
    repeat(work, everyMs) {
      const entry = { work, everyMs };
      works.add(entry);
      return () => void works.delete(entry);
    },
    async pass(seconds) {
      for (let second = 0; second < seconds; second += 1) {
        passedMs += 1_000;
        for (const { work, everyMs } of works) if (passedMs % everyMs === 0) work();
        await nextTurn();
      }
    },
  };
}

/** `JSON.stringify` leaves out the message of an error. */
function showError(_key: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const { name, message, stack, cause } = value;
  return { ...Object.fromEntries(Object.entries(value)), name, message, stack, cause };
}

/** Returns the keys that appear in a text. */
export function findKeys(text: string): readonly string[] {
  return CANARIES.filter((key) => text.includes(key));
}

/** True if the promise settles within {@link waitUntil}'s limit, at least two seconds. */
export async function settles(work: Promise<unknown>): Promise<boolean> {
  let isSettled = false;
  const note = (): void => {
    isSettled = true;
  };
  work.then(note, note);
  return waitUntil(() => isSettled);
}

/**
 * Waits for a condition. The limit is a number of turns of the event loop and not a time: on a busy machine this
 * process may not run for seconds.
 */
async function waitUntil(isTrue: () => boolean): Promise<boolean> {
  for (let turns = 0; turns < QUICK_TURNS && !isTrue(); turns += 1) await nextTurn();
  for (let turns = 0; turns < SLOW_TURNS && !isTrue(); turns += 1) await pause(SLOW_TURN_MS);
  return isTrue();
}

const QUICK_TURNS = 200;
const SLOW_TURNS = 500;
const SLOW_TURN_MS = 4;
