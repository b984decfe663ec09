import { hasPauseEnded, type Pauses } from "../../channels/pauses.js";
import type { ChannelPause } from "../../contract/channel-state.js";
import { GatewayError, invalidRequest, isGatewayError, unavailable } from "../../errors.js";
import type { Logger } from "../../logger.js";
import { isJsonObject } from "../../util/json.js";
import { encodeText } from "../../util/utf8.js";
import type { AdmissionStore } from "../limits/store.js";

/** Options of `gateway.pauseChannel`. */
export interface PauseOptions extends ResumeOptions {
  /** After this time the pause ends by itself, in seconds: above 0, at most 31,536,000, a year. Default: when the channel is resumed. */
  readonly seconds?: number | undefined;
  /** Why. Shown in the channel's status and written to the log. At most 512 bytes. */
  readonly note?: string | undefined;
}

/** Options of `gateway.resumeChannel`. */
export interface ResumeOptions {
  /** Who does it: a user, a program. Is written to the log. At most 512 bytes. Default `"gateway"`. */
  readonly by?: string | undefined;
}

/**
 * The channels that operators have paused. All processes that share the admission store know them. They are not part of the
 * channels' health: a pause may last longer than any cooldown, and no request probes a paused channel.
 */
export interface ChannelPauses extends Pauses {
  /** Asks the store for the pauses of these channels. Does not reject: a failure is logged, and nothing changes. */
  refresh(channels: readonly string[]): Promise<void>;
  /** @throws GatewayError `invalid_request_error`, `gateway_unavailable` */
  pause(channel: string, options: PauseOptions): Promise<void>;
  /** @throws GatewayError `invalid_request_error`, `gateway_unavailable` */
  resume(channel: string, options: ResumeOptions): Promise<void>;
}

/** Creates the pauses of a gateway. @param now milliseconds since 1970 */
export function createPauses(
  admission: Pick<AdmissionStore, "admit" | "setPause" | "ping">,
  now: () => number,
  logger: Logger,
): ChannelPauses {
  const known = new Map<string, ChannelPause>();
  let revision = 0;
  let hasFailed = false;

  const find = (id: string): ChannelPause | undefined => {
    const pause = known.get(id);
    return pause === undefined || hasPauseEnded(pause, now()) ? undefined : pause;
  };
  const remember = (id: string, pause: ChannelPause | undefined): void => {
    if (pause === undefined) known.delete(id);
    else known.set(id, pause);
  };
  const merge: Pauses["merge"] = (pauses, channels, askedAt) => {
    // A store that keeps no pauses has none to say.
    if (askedAt !== revision || admission.setPause === undefined) return;
    // Nearly always nothing is paused.
    if (pauses === undefined && known.size === 0) return;
    for (const id of channels) remember(id, pauseOf(pauses, id));
  };
  /** Returns the pauses that the store has. It counts and takes nothing for this. */
  const ask = async (channels: readonly string[]): Promise<PausesById | undefined> => {
    if (channels.length === 0 || admission.setPause === undefined) return undefined;
    const request = { id: ASKING, caller: ASKING, windows: [], concurrency: [], channels: [] };
    const decision = await admission.admit({ ...request, pausesOf: channels });
    return decision.kind === "admitted" ? decision.pauses : undefined;
  };
  /** Writes a pause, or ends it with `undefined`. Reads it again, because a store may keep a write for later. */
  const write = async (id: string, pause: ChannelPause | undefined): Promise<void> => {
    if (admission.setPause !== undefined) {
      let found: ChannelPause | undefined;
      try {
        await admission.setPause(id, pause);
        // While a store is away, it may say what it knew before, such as that nothing is paused.
        await admission.ping?.();
        found = pauseOf(await ask([id]), id);
      } catch (cause) {
        throw unconfirmed(cause);
      }
      if (!isSame(found, pause)) throw unconfirmed();
    }
    revision++;
    remember(id, pause);
  };

  return {
    withoutPaused(channels) {
      if (known.size === 0) return channels;
      const open = channels.filter(({ id }) => find(id) === undefined);
      return open.length === channels.length ? channels : open;
    },
    find,
    get revision() {
      return revision;
    },
    merge,
    createError: createPausedError,
    async refresh(channels) {
      const askedAt = revision;
      try {
        merge(await ask(channels), channels, askedAt);
        hasFailed = false;
      } catch (err) {
        // A store that rejects with a GatewayError has told the operator itself.
        if (!hasFailed && !isGatewayError(err)) {
          logger.warn({ err }, "The admission store failed; pauses of channels may be out of date.");
        }
        hasFailed = true;
      }
    },
    async pause(id, options) {
      const { seconds, by, note } = checkOptions(options);
      const at = now();
      const until = seconds === undefined ? {} : { until: toTime(at + Math.ceil(seconds * 1000)) };
      const details = { ...until, by, ...(note !== undefined && { note }) };
      await write(id, { since: toTime(at), ...details });
      logger.warn({ channel: id, ...details }, "A channel was paused.");
    },
    async resume(id, options) {
      const { by } = checkOptions(options);
      await write(id, undefined);
      logger.warn({ channel: id, by }, "A channel was resumed.");
    },
  };
}

type PausesById = Readonly<Record<string, ChannelPause>>;

function pauseOf(pauses: PausesById | undefined, id: string): ChannelPause | undefined {
  return pauses !== undefined && Object.hasOwn(pauses, id) ? pauses[id] : undefined;
}

/** Whether they were made by the same call. A store may round the end. */
function isSame(one: ChannelPause | undefined, other: ChannelPause | undefined): boolean {
  return one?.since === other?.since && one?.by === other?.by && one?.note === other?.note;
}

function toTime(at: number): string {
  return new Date(at).toISOString();
}

/** The id and the caller of a request that only asks for pauses. */
const ASKING = "calotype-pauses";
const MAX_SECONDS = 31_536_000;
const MAX_BYTES = 512;
const DEFAULT_BY = "gateway";

/** @throws GatewayError `invalid_request_error` */
function checkOptions(options: PauseOptions): PauseOptions & { readonly by: string } {
  const isObject: boolean = isJsonObject(options);
  if (!isObject) throw invalidRequest("The options must be an object.");
  const { seconds, by = DEFAULT_BY, note } = options;
  if (seconds !== undefined && !(typeof seconds === "number" && seconds > 0 && seconds <= MAX_SECONDS)) {
    throw invalidRequest(`seconds must be a number above 0 and at most ${MAX_SECONDS}, a year.`, "seconds");
  }
  checkString(by, "by");
  if (note !== undefined) checkString(note, "note");
  return { seconds, by, note };
}

function checkString(value: unknown, name: string): void {
  const isShort = typeof value === "string" && encodeText(value).length <= MAX_BYTES;
  if (!isShort) throw invalidRequest(`${name} must be a string of at most ${MAX_BYTES} bytes.`, name);
}

function unconfirmed(cause?: unknown): GatewayError {
  return unavailable(
    "The admission store did not confirm the change. It may take effect later: look at the channel's state, or try again.",
    cause,
  );
}

/** A pause lasts for minutes or hours, and clients repeat within seconds. */
const RETRY_SECONDS = 60;

function createPausedError(model: string): GatewayError {
  return new GatewayError(
    "model_paused",
    `The operator of this server has paused the model ${model.slice(0, 128)}. Nothing was sent or charged: try again later.`,
    { param: "model", retryAfterSeconds: RETRY_SECONDS, shouldRetry: false },
  );
}
