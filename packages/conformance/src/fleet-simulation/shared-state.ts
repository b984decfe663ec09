import type {
  AdmissionDecision,
  AdmissionRequest,
  AdmissionStore,
  Balance,
  Ledger,
} from "@calotype/core/stores";
import type { VirtualClock } from "./create-virtual-clock.ts";

/** A request and the decision of the store. */
export interface StoreDecision {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly request: AdmissionRequest;
  readonly kind: AdmissionDecision["kind"];
}

/** The balance of a caller after a change. */
export interface BalanceChange extends Balance {
  readonly caller: string;
}

export type DecisionListener = (decision: StoreDecision) => void;
export type BalanceListener = (change: BalanceChange) => void;

/** The connection of one gateway to the shared stores. */
export interface Wire {
  readonly clock: VirtualClock;
  /** Whether the gateway's process is alive. A dead process gets no reply. */
  readonly isAlive: () => boolean;
  /** The time of a round trip. */
  readonly roundTripMs: number;
}

/**
 * A call over the network. It takes effect after half of the round trip, unless the caller is dead by then.
 */
async function call<T>({ clock, isAlive, roundTripMs }: Wire, work: () => Promise<T>): Promise<T> {
  if (!isAlive()) return forever();
  await clock.sleep(roundTripMs / 2);
  const result = await work();
  await clock.sleep(roundTripMs / 2);
  return isAlive() ? result : forever();
}

/** A promise that never resolves, for dead processes. */
export function forever<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}

/** The admission store behind the connection of one gateway. */
export function reachStore(store: AdmissionStore, wire: Wire, onDecision: DecisionListener): AdmissionStore {
  return {
    admit: (request) =>
      call(wire, async () => {
        const decision = await store.admit(request);
        onDecision({ at: wire.clock.now(), request, kind: decision.kind });
        return decision;
      }),
    finish: (request, outcome) => call(wire, async () => await store.finish(request, outcome)),
    setCooldown: (channel, cooldown) => call(wire, () => store.setCooldown(channel, cooldown)),
  };
}

/** The ledger behind the connection of one gateway. */
export function reachLedger(ledger: Ledger, wire: Wire, onChange: BalanceListener): Ledger {
  const look = async (caller: string): Promise<void> =>
    onChange({ caller, ...(await ledger.balance(caller)) });
  return {
    ...ledger,
    hold: (hold) =>
      call(wire, async () => {
        const result = await ledger.hold(hold);
        await look(hold.caller);
        return result;
      }),
    settle: (record) =>
      call(wire, async () => {
        await ledger.settle(record);
        await look(record.caller);
      }),
    release: (id) => call(wire, async () => await ledger.release(id)),
    sweep: (options) => call(wire, () => ledger.sweep(options)),
  };
}
