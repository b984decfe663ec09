import { type CallerOptions, createGateway, type Gateway } from "@calotype/core";
import type { AdmissionStore, Ledger } from "@calotype/core/stores";
import type { RetryBudgetPolicy, Transport } from "@calotype/core/testing";
import { createRandom } from "./create-random.ts";
import type { VirtualClock } from "./create-virtual-clock.ts";
import {
  type BalanceListener,
  type DecisionListener,
  forever,
  reachLedger,
  reachStore,
} from "./shared-state.ts";
import type { SimulatedChannel } from "./simulated-channel.ts";

/** One gateway of a fleet. */
export interface Member {
  readonly gateway: Gateway;
  readonly isAlive: () => boolean;
  /** Resolves when the gateway dies. */
  readonly died: Promise<void>;
  /** Kills the gateway like `kill -9`. */
  readonly kill: () => void;
  /** Resolves when the next request has reached the store. */
  readonly reachesStore: () => Promise<void>;
}

/** The shared parts of the gateways of a fleet. */
export interface MemberParts {
  readonly seed: number;
  readonly clock: VirtualClock;
  readonly store: AdmissionStore;
  readonly ledger: Ledger;
  readonly transport: Transport;
  readonly channels: readonly SimulatedChannel[];
  /** Their ids are their keys. */
  readonly callers: readonly Omit<CallerOptions, "key">[];
  /** Default: the gateway's own. */
  readonly retryBudget: RetryBudgetPolicy | undefined;
  readonly onDecision: DecisionListener;
  readonly onBalance: BalanceListener;
}

/** The price of an image. */
export const PRICE = "0.04";
export const MODEL = "seedream-4-0-250828";

/** Network delays within one zone. */
const STORE_ROUND_TRIP_MS = 1;
const LEDGER_ROUND_TRIP_MS = 4;

export function createMember(index: number, parts: MemberParts): Member {
  const { seed, clock, channels, callers, transport, retryBudget } = parts;
  const { promise: died, resolve: die } = Promise.withResolvers<void>();
  let isAlive = true;
  const wire = { clock, isAlive: () => isAlive };
  const store = reachStore(parts.store, { ...wire, roundTripMs: STORE_ROUND_TRIP_MS }, parts.onDecision);
  let onReached: (() => void) | undefined;
  let ids = 0;
  const gateway = createGateway(
    {
      models: { [MODEL]: { family: "seedream" } },
      channels: channels.map(({ id }) => ({
        id,
        family: "seedream",
        apiKey: `key-of-${id}`,
        baseUrl: `https://${id}.test`,
      })),
      callers: callers.map((caller) => ({ ...caller, key: caller.id })),
      billing: { model_details: { [MODEL]: { pricing_mode: "per-request", model_price: PRICE } } },
      ledger: reachLedger(parts.ledger, { ...wire, roundTripMs: LEDGER_ROUND_TRIP_MS }, parts.onBalance),
      admission: {
        ...store,
        admit(request) {
          onReached?.();
          return store.admit(request);
        },
      },
      // Failures are simulated here, so they are not logged.
      logger: { warn: () => undefined, error: () => undefined },
    },
    {
      now: clock.now,
      random: createRandom(seed, `gateway ${index}`),
      createId: () => `req_${index}_${ids++}`,
      transport: {
        ...transport,
        async send(request) {
          const response = await transport.send(request);
          return isAlive ? response : forever();
        },
      },
      repeat: (work, everyMs) => clock.repeat(() => isAlive && work(), everyMs),
      ...(retryBudget && { retryBudget }),
    },
  );
  return {
    gateway,
    died,
    isAlive: () => isAlive,
    kill() {
      isAlive = false;
      die();
    },
    reachesStore: () =>
      new Promise((resolve) => {
        onReached = resolve;
      }),
  };
}
