import {
  KeyError,
  type KeyFunction,
  type KeyPlace,
  type KeySource,
  type KeySources,
} from "../../contract/key-source.js";
import type { Feature } from "../../kernel/feature.js";
import type { Logger } from "../../logger.js";
import { createSecretRedaction, toPlainError } from "../../redact.js";
import { type Awaitable, finishWithin } from "../../util/async.js";
import { isJsonObject } from "../../util/json.js";

/** Lets functions return the keys of channels. Without it, only strings can be keys. */
export function keyFunctions(): Feature {
  return {
    name: "key functions",
    setup: ({ now, logger }) => ({ keySources: new FunctionKeys(now, logger) }),
  };
}

/** A key that a function returned. Times are in milliseconds since 1970. */
interface HeldKey {
  readonly key: string;
  /** What to redact of it. */
  readonly secrets: readonly string[];
  readonly refreshAt: number;
  readonly expiresAt: number;
}

/** A call of the function that is in progress, and when its time is over. */
interface RunningCall {
  readonly held: Promise<HeldKey>;
  readonly until: number;
}

/** How long the function may take. */
const CALL_MS = 10_000;
/** After a failure, the function is not called again for this time. */
const RETRY_MS = 1_000;
/** After a 401 has called the function, another 401 does not call it for this time. */
const REFUSED_MS = 30_000;
/** How long before its end a key is replaced, … */
const EARLY_MS = 60_000;
/** … and at most this part of the time that it had left when it came. */
const EARLY_SHARE = 0.1;
/** Without spaces and line ends. Servers refuse longer headers. */
const KEY = /^[\x21-\x7e]{1,16384}$/;

/** A function, and the key that it returned last. */
class FunctionKey implements KeySource {
  readonly call: KeyFunction;
  readonly #place: KeyPlace;
  readonly #sources: FunctionKeys;
  #held: HeldKey | undefined;
  #running: RunningCall | undefined;
  #failed: { readonly error: KeyError; readonly until: number } | undefined;
  /** Until when another 401 does not call the function. */
  #refusedUntil = 0;
  /** Whether the log says already that the key cannot be replaced. */
  #hasWarned = false;

  constructor(place: KeyPlace, call: KeyFunction, sources: FunctionKeys) {
    this.call = call;
    this.#place = place;
    this.#sources = sources;
  }

  get channel(): string {
    return this.#place.channel;
  }

  /** The key that the function returned last. */
  get current(): string | undefined {
    return this.#held?.key;
  }

  async send<Response extends { readonly status: number; cancel(): void }>(
    sendWith: (key: string) => Promise<Response>,
  ): Promise<Response> {
    const held = await this.#find();
    const response = await sendWith(held.key);
    if (response.status !== 401) return response;
    const other = await this.#replace(held);
    if (other === undefined) return response;
    response.cancel();
    return sendWith(other.key);
  }

  #find(): Awaitable<HeldKey> {
    const held = this.#held;
    const now = this.#sources.now();
    if (held === undefined || now >= held.expiresAt) return this.#obtain(now);
    // The old key is used meanwhile.
    if (now >= held.refreshAt && this.#mayCall(now)) this.#obtain(now).catch((error) => this.#warn(error));
    return held;
  }

  /** Returns a key in place of a refused one. `undefined`: there is no other. */
  async #replace(refused: HeldKey): Promise<HeldKey | undefined> {
    const now = this.#sources.now();
    const isCurrent = this.current === refused.key;
    if (isCurrent && this.#mayCall(now)) {
      if (now < this.#refusedUntil) return undefined;
      this.#refusedUntil = now + REFUSED_MS;
      // Without a time, this is how an expired key is found.
      if (refused.expiresAt !== Number.POSITIVE_INFINITY)
        this.#log("A provider refused a key before its time.");
    }
    try {
      const held = await (isCurrent ? this.#obtain(now, refused.key) : this.#find());
      return held.key === refused.key ? undefined : held;
    } catch (error) {
      this.#warn(error);
      return undefined;
    }
  }

  /** False during a call, and shortly after one that failed. */
  #mayCall(now: number): boolean {
    return now >= (this.#running?.until ?? 0) && now >= (this.#failed?.until ?? 0);
  }

  /** Calls the function, or waits for the call in progress. */
  #obtain(now: number, refused?: string): Promise<HeldKey> {
    if (this.#failed !== undefined && now < this.#failed.until) return Promise.reject(this.#failed.error);
    if (this.#running === undefined || now >= this.#running.until) this.#running = this.#call(now, refused);
    const { held, until } = this.#running;
    // Everyone who waits has a timer: on Workers a call and its timer end with the request that began them.
    const createError = (): Error => this.#createError(`has not returned within ${CALL_MS / 1000} s`);
    return finishWithin(held, { ms: until - now, createError });
  }

  #call(now: number, refused: string | undefined): RunningCall {
    const { call } = this;
    const held = Promise.resolve()
      .then(() => call({ refused }))
      .then((returned) => this.#read(returned))
      .then(
        (read) => {
          if (this.#running === running) this.#hold(read);
          return read;
        },
        (thrown: unknown) => {
          const error = this.#toKeyError(thrown);
          if (this.#running === running) this.#fail(error);
          throw error;
        },
      );
    // It is replaced if its time is over when the key is needed again.
    const running = { held, until: now + CALL_MS };
    return running;
  }

  #hold(held: HeldKey): void {
    const before = this.current;
    this.#held = held;
    this.#running = undefined;
    this.#failed = undefined;
    this.#hasWarned = false;
    this.#sources.hold(this.channel, held, before);
  }

  #fail(error: KeyError): void {
    this.#running = undefined;
    this.#failed = { error, until: this.#sources.now() + RETRY_MS };
  }

  /** @throws KeyError that says what is wrong, without what the function returned, which may contain a key */
  #read(returned: unknown): HeldKey {
    const { key, expiresAt } = isJsonObject(returned) ? returned : { key: returned, expiresAt: undefined };
    if (typeof key !== "string" || !KEY.test(key)) {
      const what = (returned ?? "") === "" ? "nothing" : `an invalid ${typeof returned}`;
      throw this.#createError(`returned ${what} instead of a key or { key, expiresAt }`);
    }
    const now = this.#sources.now();
    const end = expiresAt ?? Number.POSITIVE_INFINITY;
    const time = end instanceof Date ? end.getTime() : end;
    if (typeof time !== "number" || !(time > now)) {
      const rule = "a Date, or milliseconds since 1970, in the future";
      throw this.#createError(`returned an invalid expiresAt: it must be ${rule}`);
    }
    const refreshAt = time - Math.min(EARLY_MS, (time - now) * EARLY_SHARE);
    return { key, secrets: this.#place.toSecrets(key), refreshAt, expiresAt: time };
  }

  #toKeyError(thrown: unknown): KeyError {
    if (thrown instanceof KeyError) return thrown;
    const cause = toPlainError(thrown, createSecretRedaction(this.#sources.secrets));
    return this.#createError("has failed", { cause });
  }

  #createError(problem: string, options?: ErrorOptions): KeyError {
    const { channel, index } = this.#place;
    return new KeyError(`The function of apiKey (channel ${channel}, key ${index}) ${problem}.`, options);
  }

  #warn(err: unknown): void {
    if (!this.#hasWarned)
      this.#log("A key could not be replaced; the old one is used while it is valid.", { err });
    this.#hasWarned = true;
  }

  #log(message: string, fields?: object): void {
    const { channel, index } = this.#place;
    this.#sources.logger.warn({ channel, key: index, ...fields }, message);
  }
}

/** How long a key is redacted after it was replaced. */
const REDACTED_MS = 24 * 3_600_000;
/** How many keys of a channel are redacted. */
const MAX_REDACTED = 1_000;

/** A key that is redacted until a time, in milliseconds since 1970, or longer if it is still a current one. */
interface RedactedKey {
  readonly secrets: readonly string[];
  until: number;
}

/** The functions of a gateway, and the keys to redact. */
export class FunctionKeys implements KeySources {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly logger: Logger;
  /** By the health id of the key. */
  readonly #sources = new Map<string, FunctionKey>();
  /** By the id of the channel, and then by the key; the oldest first. */
  readonly #redacted = new Map<string, Map<string, RedactedKey>>();
  #secrets: readonly string[] | undefined;

  constructor(now: () => number, logger: Logger) {
    this.now = now;
    this.logger = logger;
  }

  get secrets(): readonly string[] {
    this.#secrets ??= [...this.#redacted.values()].flatMap((keys) =>
      [...keys.values()].flatMap(({ secrets }) => secrets),
    );
    return this.#secrets;
  }

  open(place: KeyPlace, call: KeyFunction): FunctionKey {
    const known = this.#sources.get(place.healthId);
    if (known?.call === call) return known;
    if (known !== undefined) this.#keepRedacted(known.channel, known.current);
    const source = new FunctionKey(place, call, this);
    this.#sources.set(place.healthId, source);
    return source;
  }

  retain(healthIds: readonly string[]): void {
    for (const [healthId, source] of this.#sources) {
      if (healthIds.includes(healthId)) continue;
      this.#sources.delete(healthId);
      this.#keepRedacted(source.channel, source.current);
    }
  }

  /**
   * Redacts a key from now on.
   *
   * @param before the key that it replaces
   */
  hold(channel: string, { key, secrets }: HeldKey, before: string | undefined): void {
    const keys = this.#redacted.get(channel) ?? new Map<string, RedactedKey>();
    this.#redacted.set(channel, keys);
    this.#keepRedacted(channel, before);
    // It becomes the newest.
    keys.delete(key);
    keys.set(key, { secrets, until: this.now() + REDACTED_MS });
    this.#forgetOld(keys);
    this.#secrets = undefined;
  }

  /** Redacts a key that is no longer used for another day. */
  #keepRedacted(channel: string, key: string | undefined): void {
    const redacted = key === undefined ? undefined : this.#redacted.get(channel)?.get(key);
    if (redacted !== undefined) redacted.until = this.now() + REDACTED_MS;
  }

  #forgetOld(keys: Map<string, RedactedKey>): void {
    const now = this.now();
    const current = new Set([...this.#sources.values()].map((source) => source.current));
    for (const [key, { until }] of keys) {
      if (!current.has(key) && (until <= now || keys.size > MAX_REDACTED)) keys.delete(key);
    }
  }
}
