import type { Channel } from "../../channels/channel.js";
import type { Pauses } from "../../channels/pauses.js";
import type { ChannelPause } from "../../contract/channel-state.js";
import { GatewayError, invalidRequest, isGatewayError, unavailable } from "../../errors.js";
import type { Logger } from "../../logger.js";
import type { Cooldown } from "../../types.js";
import { isJsonObject } from "../../util/json.js";
import { encodeText } from "../../util/utf8.js";
import type { AdmissionStore } from "../limits/store.js";

/** Returns the id under which the store keeps the pause of a channel. No health id ends like this. */
function pauseIdOf(channel: Pick<Channel, "id">): string {
  return `${channel.id}@paused`;
}

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
  refresh(channels: readonly Pick<Channel, "id">[]): Promise<void>;
  /** @throws GatewayError `invalid_request_error`, `gateway_unavailable` */
  pause(channel: string, options: PauseOptions): Promise<void>;
  /** @throws GatewayError `invalid_request_error`, `gateway_unavailable` */
  resume(channel: string, options: ResumeOptions): Promise<void>;
}

/** A pause in this process. */
interface KnownPause extends Cooldown {
  readonly shown: ChannelPause;
}

/** Creates the pauses of a gateway. @param now milliseconds since 1970 */
export function createPauses(
  admission: Pick<AdmissionStore, "admit" | "setCooldown" | "ping">,
  now: () => number,
  logger: Logger,
): ChannelPauses {
  const known = new Map<string, KnownPause>();
  let revision = 0;
  let hasFailed = false;

  const findKnown = (id: string): KnownPause | undefined => {
    const pause = known.get(id);
    return pause === undefined || pause.until <= now() ? undefined : pause;
  };
  const merge: Pauses["merge"] = (cooldowns, channels, askedAt) => {
    if (askedAt !== revision) return;
    for (const channel of channels) {
      const cooldown = cooldowns[pauseIdOf(channel)];
      if (cooldown === undefined) known.delete(channel.id);
      else if (!isSame(known.get(channel.id), cooldown)) known.set(channel.id, toKnown(cooldown, now()));
    }
  };
  /** Returns the pauses that the store has. It counts and takes nothing for this. */
  const ask = async (
    channels: readonly Pick<Channel, "id">[],
  ): Promise<Readonly<Record<string, Cooldown>>> => {
    if (channels.length === 0) return {};
    const request = { id: ASKING, caller: ASKING, windows: [], concurrency: [] };
    const decision = await admission.admit({ ...request, channels: channels.map(pauseIdOf) });
    return decision.kind === "admitted" ? decision.cooldowns : {};
  };
  /** Writes a pause, or ends it with `undefined`. Reads it again, because a store may keep a write for later. */
  const write = async (id: string, cooldown: Cooldown | undefined): Promise<void> => {
    let found: Cooldown | undefined;
    try {
      await admission.setCooldown(pauseIdOf({ id }), cooldown);
      // While a store is away, it may say what it knew before, such as that nothing is paused.
      await admission.ping?.();
      found = (await ask([{ id }]))[pauseIdOf({ id })];
    } catch (cause) {
      throw unconfirmed(cause);
    }
    // A store may round the end.
    if (found?.reason !== cooldown?.reason) throw unconfirmed();
    revision++;
    if (cooldown === undefined) known.delete(id);
    else known.set(id, toKnown(cooldown, now()));
  };

  return {
    idOf: pauseIdOf,
    withoutPaused(channels) {
      if (known.size === 0) return channels;
      const open = channels.filter(({ id }) => findKnown(id) === undefined);
      return open.length === channels.length ? channels : open;
    },
    find: (id) => findKnown(id)?.shown,
    get revision() {
      return revision;
    },
    merge(cooldowns, channels, askedAt) {
      // Nearly always nothing is paused and nothing cools.
      if (known.size > 0 || Object.keys(cooldowns).length > 0) merge(cooldowns, channels, askedAt);
    },
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
      const until = seconds === undefined ? WITHOUT_END : at + Math.ceil(seconds * 1000);
      const details = { since: at, by, ...(note !== undefined && { note }) };
      const cooldown = { until, reason: JSON.stringify({ paused: details }) };
      await write(id, cooldown);
      const { since: _since, ...shown } = toKnown(cooldown, at).shown;
      logger.warn({ channel: id, ...shown }, "A channel was paused.");
    },
    async resume(id, options) {
      const { by } = checkOptions(options);
      await write(id, undefined);
      logger.warn({ channel: id, by }, "A channel was resumed.");
    },
  };
}

/** Two pauses that began in the same millisecond can differ in their ends only. */
function isSame(one: Cooldown | undefined, other: Cooldown): boolean {
  return one?.reason === other.reason && one.until === other.until;
}

/** The id and the caller of a request that only asks for pauses. */
const ASKING = "calotype-pauses";
/** 9999-12-31T23:59:59.999Z: the end of a pause without an end. A finite number, because a store may write it as text. */
const WITHOUT_END = 253_402_300_799_999;
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

/**
 * The reason of the cooldown has the details. Those that cannot be read are left out, and the pause still holds.
 *
 * @param now the beginning of a pause that does not say when it began
 */
function toKnown({ until, reason }: Cooldown, now: number): KnownPause {
  const { since, by, note } = parseDetails(reason);
  const isTime = typeof since === "number" && Math.abs(since) <= MAX_TIME;
  return {
    until,
    reason,
    shown: {
      since: new Date(isTime ? since : now).toISOString(),
      ...(until < WITHOUT_END && { until: new Date(until).toISOString() }),
      by: typeof by === "string" ? by : "",
      ...(typeof note === "string" && { note }),
    },
  };
}

/** The largest time of a Date. */
const MAX_TIME = 8.64e15;

function parseDetails(reason: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(reason);
    return isJsonObject(value) && isJsonObject(value["paused"]) ? value["paused"] : {};
  } catch {
    // Written by another program.
    return {};
  }
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
