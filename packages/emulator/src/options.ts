import { randomInt } from "node:crypto";

/** How an emulator behaves. Every field has a default, so `createEmulator()` works. */
export interface EmulatorOptions {
  /** Milliseconds since the epoch, by default `Date.now`. `created` and the expiry of links follow it. */
  now?: () => number;
  /**
   * `full` (default) draws pictures of exactly the asked size. `tiny` answers with a small picture of about
   * the same shape, for load tests: `size` and `usage` still report what was asked.
   */
  pictures?: "full" | "tiny";
  /** How long a result link is served, in seconds. Default 86400, as with both providers. */
  linkTtlSeconds?: number;
  /** The accepted Ark keys. Absent: any non-empty Bearer key. */
  arkApiKeys?: readonly string[];
  /** The accepted DashScope keys. Absent: any non-empty Bearer key. */
  dashscopeApiKeys?: readonly string[];
  /** Ark endpoint ids (`ep-…`) and the model id that each of them serves. */
  arkEndpoints?: Readonly<Record<string, string>>;
  /** Simulated drawing time per image, in milliseconds. Default 0. The real models take 19 to 60 seconds. */
  millisecondsPerImage?: number;
  /** Everything random is drawn from it: ids, picture seeds, the probability of faults. Default: a new one each time. */
  seed?: number;
  /**
   * The origin of result links when `fetch` is used without `listen`, such as `http://localhost:3000`.
   * Default: the origin of the request itself, so that the same `fetch` also serves the links.
   */
  origin?: string;
}

/** The options with their defaults applied. */
export interface Settings extends EmulatorOptions {
  readonly now: () => number;
  readonly pictures: "full" | "tiny";
  readonly linkTtlSeconds: number;
  readonly arkEndpoints: Readonly<Record<string, string>>;
  readonly millisecondsPerImage: number;
  readonly seed: number;
}

export function applyDefaults(options: EmulatorOptions): Settings {
  return {
    now: Date.now,
    pictures: "full",
    linkTtlSeconds: 86_400,
    arkEndpoints: {},
    millisecondsPerImage: 0,
    seed: randomInt(2 ** 31),
    ...options,
  };
}
