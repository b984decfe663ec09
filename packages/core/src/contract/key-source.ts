/** A key, and when it expires. */
export interface ExpiringKey {
  /** The key. Nothing (`null`, `undefined`) is an error; the type allows it because client libraries return it. */
  readonly key: string | null | undefined;
  /**
   * When the provider stops accepting the key: a `Date`, or milliseconds since 1970. The function is called again shortly
   * before: a minute, or a tenth of the key's remaining time if that is less. Default: the key is used until the provider
   * refuses it.
   */
  readonly expiresAt?: Date | number | null | undefined;
}

/** Why a {@link KeyFunction} is called. */
export interface KeyRequest {
  /**
   * The key that the provider has refused with a 401. A function that reads the key from a cache must not return it again.
   * `undefined`: no key was refused.
   */
  readonly refused: string | undefined;
}

/**
 * Returns the key of a channel, for services whose keys expire. It is called when the key is needed first, again shortly
 * before the key expires, and once after the provider has refused the key with a 401. It has 10 seconds. Requests that need
 * the key at the same time share one call.
 *
 * @example
 * ```ts
 * import type { KeyFunction } from "@calotype/core/operator";
 *
 * const readToken: KeyFunction = async () => {
 *   const response = await fetch("http://127.0.0.1:8200/token");
 *   const { token, seconds } = (await response.json()) as { token: string; seconds: number };
 *   return { key: token, expiresAt: Date.now() + seconds * 1000 };
 * };
 * ```
 */
export type KeyFunction = (request: KeyRequest) => ReturnedKey | PromiseLike<ReturnedKey>;

type ReturnedKey = ExpiringKey["key"] | ExpiringKey;

/** Where a function is in the options. */
export interface KeyPlace {
  /** The id of the channel. */
  readonly channel: string;
  /** The index in `apiKey`, from 0. */
  readonly index: number;
  /** The health id of the key. */
  readonly healthId: string;
  /** Returns what to redact of a key. */
  readonly toSecrets: (key: string) => readonly string[];
}

/** A function of the options that returns a key. */
export interface KeySource {
  /**
   * Sends a request with the key. If the provider refuses the key with a 401 and the function returns another one, the request
   * is sent once more.
   *
   * @throws KeyError if there is no valid key. Then nothing was sent
   */
  send<Response extends { readonly status: number; cancel(): void }>(
    sendWith: (key: string) => Promise<Response>,
  ): Promise<Response>;
}

/** The functions of a gateway that return keys. They stay when options are reloaded. */
export interface KeySources {
  /** What to redact of the keys that the functions have returned. Another list once there are others. */
  readonly secrets: readonly string[];
  /** Returns the source of a function. The same function at the same place keeps its key. */
  open(place: KeyPlace, call: KeyFunction): KeySource;
  /** Forgets the functions with other health ids. */
  retain(healthIds: readonly string[]): void;
}

/** The function has not returned a valid key. Nothing was sent. */
export class KeyError extends Error {
  override readonly name = "KeyError";
}
