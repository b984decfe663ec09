import { type CallerOptions, createMemoryAdmissionStore, createMemoryLedger } from "@calotype/core";
import type { GatewayRequest, GatewayResponse } from "@calotype/core/adapter";
import type { Ledger } from "@calotype/core/stores";
import type { RetryBudgetPolicy } from "@calotype/core/testing";
import { createMember, MODEL } from "./create-member.ts";
import { createProviders, type SimulatedCall } from "./create-providers.ts";
import { createRandom } from "./create-random.ts";
import { createVirtualClock, type VirtualClock } from "./create-virtual-clock.ts";
import type { BalanceChange, StoreDecision } from "./shared-state.ts";
import type { SharedBackend, SimulatedChannel } from "./simulated-channel.ts";

/** The options of a simulation. The same options always give exactly the same run. */
export interface FleetOptions {
  readonly seed: number;
  /** The number of gateways. */
  readonly gateways: number;
  /** Whether all gateways share one admission store, or each has its own. Default: one store. */
  readonly isShared?: boolean;
  readonly channels: readonly SimulatedChannel[];
  readonly backend?: SharedBackend;
  /** Their ids are their keys. */
  readonly callers: readonly Omit<CallerOptions, "key">[];
  /** Default: the gateway's own. */
  readonly retryBudget?: RetryBudgetPolicy | undefined;
}

/** A request of a client. */
export interface ClientRequest {
  readonly caller: string;
  /** Identifies the request. A repeat has the same value. */
  readonly prompt: string;
  readonly images?: number;
  readonly idempotencyKey?: string;
}

/** The result of a request. */
export interface ClientResponse {
  readonly request: ClientRequest;
  /** Milliseconds from the start. */
  readonly beganMs: number;
  readonly endedMs: number;
  /** 0 if the connection broke because its gateway died. */
  readonly status: number;
  readonly isReplay: boolean;
  readonly body: string;
}

/** Gateways with their stores, providers and clients, on one virtual clock. */
export interface SimulatedFleet {
  readonly clock: VirtualClock;
  /** Milliseconds from the start. */
  readonly elapsedMs: () => number;
  readonly ledger: Ledger;
  readonly calls: readonly SimulatedCall[];
  readonly decisions: readonly StoreDecision[];
  readonly balances: readonly BalanceChange[];
  /** Results in the order in which the requests ended. */
  readonly responses: readonly ClientResponse[];
  /** Sends a request to a random gateway. Resolves when the response has arrived. */
  post(request: ClientRequest): Promise<ClientResponse>;
  /** Kills a gateway like `kill -9`. */
  kill(gateway: number): void;
}

export function createFleet(options: FleetOptions): SimulatedFleet {
  const { seed, channels, backend, callers, retryBudget, isShared = true } = options;
  const clock = createVirtualClock();
  const start = clock.now();
  const elapsedMs = (): number => clock.now() - start;
  const ledger = createMemoryLedger({ now: clock.now, maxRecords: 1_000_000 });
  const { transport, calls } = createProviders({ seed, clock, channels, backend });
  const oneStore = createMemoryAdmissionStore({ now: clock.now });
  const decisions: StoreDecision[] = [];
  const balances: BalanceChange[] = [];
  const responses: ClientResponse[] = [];
  const members = Array.from({ length: options.gateways }, (_, index) =>
    createMember(index, {
      seed,
      clock,
      store: isShared ? oneStore : createMemoryAdmissionStore({ now: clock.now }),
      ledger,
      transport,
      channels,
      callers,
      retryBudget,
      onDecision: (decision) => void decisions.push(decision),
      onBalance: (change) => void balances.push(change),
    }),
  );
  const random = createRandom(seed, "balancer");

  const exchange = async (request: ClientRequest): Promise<ClientResponse> => {
    const beganMs = elapsedMs();
    const alive = members.filter((member) => member.isAlive());
    const member = alive[Math.floor(random() * alive.length)];
    const answered = member?.gateway.handle(toGatewayRequest(request));
    if (member === undefined || !answered) throw new Error("No gateway takes the request.");
    // Keys are hashed outside the event loop.
    if (request.idempotencyKey !== undefined) {
      clock.standStillFor(Promise.race([member.reachesStore(), answered]));
    }
    const response = await Promise.race([answered, member.died]);
    const isReplay = response?.headers["idempotent-replayed"] === "true";
    const body = response === undefined ? "" : await readText(response);
    return { request, beganMs, endedMs: elapsedMs(), status: response?.status ?? 0, isReplay, body };
  };

  return {
    clock,
    elapsedMs,
    ledger,
    calls,
    decisions,
    balances,
    responses,
    async post(request) {
      const response = await exchange(request);
      responses.push(response);
      return response;
    },
    kill(index) {
      const member = members[index];
      if (member === undefined) throw new RangeError(`There is no gateway ${index}.`);
      member.kill();
    },
  };
}

function toGatewayRequest({ caller, prompt, images, idempotencyKey }: ClientRequest): GatewayRequest {
  const headers = new Headers({ authorization: `Bearer ${caller}`, "content-type": "application/json" });
  if (idempotencyKey !== undefined) headers.set("idempotency-key", idempotencyKey);
  const fields = { model: MODEL, prompt, ...(images !== undefined && { n: images }) };
  return {
    method: "POST",
    url: "/v1/images/generations",
    headers,
    body: null,
    parsedBody: fields,
    signal: { aborted: false },
  };
}

async function readText({ body }: GatewayResponse): Promise<string> {
  if (typeof body === "string") return body;
  const decoder = new TextDecoder();
  if (body instanceof Uint8Array) return decoder.decode(body);
  let text = "";
  for await (const chunk of body) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}
