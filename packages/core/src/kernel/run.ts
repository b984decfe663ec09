import { Commit } from "../billing/commit.js";
import type { Delivery } from "../billing/delivery.js";
import type { Hold, Holds } from "../billing/hold.js";
import type { SentTo } from "../billing/outcome.js";
import type { BilledRequest } from "../billing/records.js";
import { GatewayError } from "../errors.js";
import type { GatewayResponse } from "../http.js";
import type { CallParts } from "../responses/call.js";
import { isPromiseLike, settlesWithin } from "../util/async.js";
import type { Admission, Admitted, LimitedMoment, Repeatable, Replayed } from "./admission.js";
import type { NormalizedCall } from "./normalized-call.js";
import { releaseAfterBody } from "./release-after-body.js";
import { send } from "./send.js";

/** What running a call needs of the gateway, with one set of options. */
export interface RunParts extends CallParts {
  /** `undefined`: every valid call may run. */
  readonly admission: Admission | undefined;
  readonly holds: Holds;
  readonly delivery: Delivery;
}

/** Who made a hold that is taken over. */
type KeptHoldKind = "of a task" | "of another process";
/** The hold of a probe sets no money aside, and leaves no charge and no record. */
type HoldKind = "open" | KeptHoldKind | "of a probe";

/** For whom a call runs: a client that waits, the task store, a client that is gone, or an operator who probes a channel. */
export interface CallClient {
  /** Which limits are checked. Absent: none, because they were checked by the process that sent the call. */
  readonly moment?: LimitedMoment | undefined;
  /** What identifies a repeat of the request. Absent: there is no idempotency key. */
  readonly repeatable?: Repeatable | undefined;
  /** Whether a hold is opened, or taken over from a task or from another process. */
  readonly hold: HoldKind;
  /** Checks the response to a repeat of an earlier request. */
  checkReplay?(response: GatewayResponse): void;
  /** Called before the hold is opened or taken over. A rejection ends the call. */
  beforeHold?(): Promise<void>;
  /** The last check before anything is sent. If it rejects, the hold is released. */
  readonly beforeSend?: (() => void | Promise<void>) | undefined;
  /** Takes the response. The hold of a streamed response ends later. A rejection is a failure of the call. */
  receive(response: GatewayResponse, commit: Commit): GatewayResponse | Promise<GatewayResponse>;
  /** Takes the failure of a call without a response. Its hold is open if the gateway itself failed. */
  fail(error: unknown, commit: Commit): GatewayResponse | Promise<GatewayResponse>;
  /**
   * Decides what the client gets while the call waits for its limits, and then while its response is made: a stream may begin before.
   * `serving` rejects if the call is refused after it has waited.
   */
  readonly deliver?:
    | ((serving: Promise<GatewayResponse>, admission: Admitted | undefined) => Promise<GatewayResponse>)
    | undefined;
}

/** The response of a call whose client does not wait for one. */
export const NO_RESPONSE: GatewayResponse = { status: 204, headers: {}, body: "" };

/**
 * Runs a call: checks its limits, opens its hold, sends it, charges it, and releases what it has. Requests, tasks, calls of
 * dead processes and probes take this path, each with its own client.
 *
 * @param turn the admission of a call that waits for it
 * @throws GatewayError if the call is refused before it has a hold. It has released its slot then.
 */
export async function run(
  parts: RunParts,
  call: NormalizedCall,
  client: CallClient,
  turn?: Promise<Admitted | Replayed>,
): Promise<GatewayResponse> {
  let admission: Admitted | undefined;
  let hold: Hold;
  try {
    if (client.moment !== undefined && parts.admission !== undefined) {
      const admitted = await (turn ?? parts.admission.admit(call, client.moment, client.repeatable));
      if (admitted.kind === "waiting") {
        const running = run(parts, call, client, admitted.turn);
        return await (client.deliver?.(running, undefined) ?? running);
      }
      if (admitted.kind === "replay") {
        client.checkReplay?.(admitted.response);
        call.slot?.release();
        return admitted.response;
      }
      admission = admitted;
      call.keptBytes = admission.keptBytes;
    }
    if (client.beforeHold !== undefined) await client.beforeHold();
    hold = await takeHold(parts, call, client);
  } catch (error) {
    // Before the client gets the error, so that its next request finds the slot and the idempotency key free.
    await admission?.release();
    call.slot?.release();
    throw error;
  }
  const serving = serve(parts, call, { client, admission, commit: new Commit(hold) });
  return client.deliver === undefined ? await serving : await client.deliver(serving, admission);
}

function takeHold(parts: RunParts, call: NormalizedCall, client: CallClient): Hold | Promise<Hold> {
  const { keepAlive, observer, billed } = call;
  if (observer !== undefined) billed.observer = observer;
  if (client.hold !== "open") return takeOver(parts, billed, client.hold);
  return parts.holds.open(billed, { ttlMs: call.leaseMs, keepAlive });
}

function takeOver(
  { holds }: Pick<RunParts, "holds">,
  billed: BilledRequest,
  kind: Exclude<HoldKind, "open">,
): Hold {
  return kind === "of another process" ? holds.resume(billed) : holds.adopt(billed);
}

/** A call that may be sent. */
interface OpenCall {
  readonly client: CallClient;
  readonly admission: Admitted | undefined;
  readonly commit: Commit;
}

/**
 * Sends a call and cleans up after it. Does not reject: a failure is a response too.
 *
 * It releases what the call has reserved, in this order: the hold has ended; then its admission (limits, idempotency key);
 * then its slot; then its usage record is delivered. A client that has the response can repeat the request at once.
 *
 * A complete response is sent after this. But a large body keeps its slot until it is read, and the delivery is not awaited.
 */
async function serve(
  parts: RunParts,
  call: NormalizedCall,
  { client, admission, commit }: OpenCall,
): Promise<GatewayResponse> {
  let response: GatewayResponse;
  try {
    if (client.beforeSend !== undefined || call.client.signal.aborted)
      await checkBeforeSend(client, call, commit);
    // After this the request costs money, and runs to its end.
    const received = client.receive(await send(parts, call, commit), commit);
    response = isPromiseLike(received) ? await received : received;
  } catch (error) {
    response = await client.fail(error, commit);
  }
  if (admission !== undefined) response = { ...response, headers: admission.addLimits(response.headers) };
  if (!isComplete(response)) {
    cleanUpLater(parts, call, { admission, commit });
    return response;
  }
  const { delivery } = parts;
  const { slot, keepAlive } = call;
  const end = commit.end ?? (await commit.ended);
  if (admission !== undefined) await admission.finish(end, response);
  const released = slot === undefined ? response : releaseAfterBody(response, slot);
  if (delivery.isNeeded) keepAlive(delivery.run());
  return released;
}

/** The last moment at which a call costs nothing. */
async function checkBeforeSend(client: CallClient, call: NormalizedCall, commit: Commit): Promise<void> {
  try {
    await client.beforeSend?.();
    if (call.client.signal.aborted) throw new GatewayError("client_closed_request", "The client left.");
  } catch (error) {
    await commit.release();
    throw error;
  }
}

/**
 * The same for a streamed response, when the stream has ended. The host learns this now, because Next accepts no work after the
 * head of a response. The closures must not refer to the response or the call: thousands of streams may stay open for minutes.
 */
function cleanUpLater(
  { delivery }: Pick<RunParts, "delivery">,
  { slot, keepAlive }: NormalizedCall,
  { admission, commit }: Omit<OpenCall, "client">,
): void {
  const ended = commit.ended
    .then((end) => admission?.finish(end))
    .then(() => {
      slot?.release();
      return delivery.run();
    });
  keepAlive(ended);
}

function isComplete({ body }: GatewayResponse): boolean {
  return typeof body === "string" || body instanceof Uint8Array;
}

/** How long a call that failed may take to end its hold. */
const SETTLE_MS = 60_000;

/** Ends a call that failed, for clients that leave no hold to a sweep. If the gateway itself failed, its outcome is unknown. */
export async function endFailed(commit: Commit): Promise<void> {
  if ((await settlesWithin(commit.ended, SETTLE_MS)) || commit.hasRun) return;
  await commit.run(NOWHERE, { status: 500, errorCode: "internal_error", images: 0, isUnknown: true });
}

/**
 * Takes over and ends the hold of a call that an earlier process sent, and that cannot be continued, such as one whose model is
 * gone. It will never be known what was made.
 */
export async function endLost(
  parts: Pick<RunParts, "holds">,
  billed: BilledRequest,
  { hold: kind, status }: { readonly hold: KeptHoldKind; readonly status: number },
): Promise<Commit> {
  const commit = new Commit(takeOver(parts, billed, kind));
  await commit.run(NOWHERE, { status, errorCode: "outcome_unknown", images: 0, isUnknown: true });
  return commit;
}

const NOWHERE: SentTo = { channel: "", upstreamModel: "", attempts: [] };
