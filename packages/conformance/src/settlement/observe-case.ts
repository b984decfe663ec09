import { setTimeout as pause } from "node:timers/promises";
import type { UsageRecord } from "@calotype/core";
import type { Balance } from "@calotype/core/stores";
import { expect, vi } from "vitest";
import { readRecords } from "../ledger-suite/read-ledger.js";
import type { Call } from "../support/http-client.js";
import { leave, readToEnd } from "./clients.js";
import { type RecordFacts, recordOf, type Sight } from "./row.js";
import { CALLER, type Case, type StartedCase, startCase } from "./start-case.js";
import { toCall } from "./ways.js";

/** The outcome of a case. */
export interface Outcome {
  /** `undefined` if the client disconnected. */
  readonly sees: Sight | undefined;
  readonly records: readonly RecordFacts[];
  readonly balance: Balance;
  /** How often the provider was called. */
  readonly calls: number;
  /** The status of the next request, and what is held after it. */
  readonly next: { readonly status: number; readonly held: string };
}

/** Runs a case and observes its outcome. If the client reads the whole response, the ledger is read directly after that. */
export async function observeCase(played: Case): Promise<Outcome> {
  const started = await startCase(played);
  const { gateway, url, calls } = started;
  try {
    const sees = await play(played, started, toCall(played.way, played.row.asked ?? 1, played.row.fields));
    if (played.row.client !== undefined) await waitForRecord(played, started);
    const records = (await readRecords(gateway.usage)).map(toFacts);
    const balance = await gateway.usage.balance(CALLER);
    const outcome = { sees, records, balance, calls: calls() };
    const { status } = await readToEnd(url, toCall(played.way, 1));
    const { held } = await gateway.usage.balance(CALLER);
    return { ...outcome, next: { status, held } };
  } finally {
    await started.close();
  }
}

/** Runs a case with these headers until it is settled, and returns the request. */
export async function playCase(
  played: Case,
  started: StartedCase,
  headers: Readonly<Record<string, string>>,
): Promise<Call> {
  const { way, row } = played;
  const call = toCall(way, row.asked ?? 1, row.fields);
  const sent = { ...call, headers: { ...call.headers, ...headers } };
  await play(played, started, sent);
  if (row.client !== undefined) await waitForRecord(played, started);
  return sent;
}

async function play({ row }: Case, started: StartedCase, call: Call): Promise<Sight | undefined> {
  const { gateway, url, gatewayCalled, providerCalled } = started;
  if (row.client !== undefined && row.client !== "after the response") {
    await leave(
      url,
      call,
      row.client,
      row.provider.length > 0 ? providerCalled : gatewayCalled.then(() => pause(30)),
    );
    return undefined;
  }
  const reading = readToEnd(url, call);
  if (row.closed !== undefined) {
    await providerCalled;
    // An image that the client must see has to arrive before the deadline, also on a slow machine.
    await gateway.close({ deadlineSeconds: (row.sees?.images ?? 0) > 0 ? 1 : 0.1 });
  }
  return reading;
}

async function waitForRecord({ row }: Case, { gateway }: StartedCase): Promise<void> {
  // Without a record there is no event to wait for.
  if (recordOf(row) === "none") return pause(50);
  await vi.waitFor(async () => expect(await readRecords(gateway.usage)).not.toEqual([]));
}

function toFacts(record: UsageRecord): RecordFacts {
  const { state, images, charge } = record;
  if (state !== "settled") return { state, images, charge };
  const { status, channel, usage, reportedUsage, errorCode, unpriced } = record;
  return { state, images, charge, status, channel, usage, reportedUsage, errorCode, unpriced };
}
