import { randomInt } from "node:crypto";
import type { ProviderName } from "./provider-name.js";

/** How images are drawn, see {@link EmulatorOptions.images}. */
export type ImageMode = "full" | "plain" | "tiny";

/** Options of an emulator. Each has a default. */
export interface EmulatorOptions {
  /** Returns milliseconds since the epoch. Default `Date.now`. Sets `created` and the expiry of links. */
  now?: () => number;
  /**
   * `full` (default): images have exactly the requested size. `plain`: they also have it, but only one colour, which takes
   * hardly any time, for tests that read the size. `tiny`: images are small and have about the requested shape, for load
   * tests; `size` and `usage` still report the requested size.
   */
  images?: ImageMode;
  /** How long a result link is valid, in seconds. Default: as with the provider, 86400 for most and 600 for BFL. */
  linkTtlSeconds?: number;
  /** The accepted Ark keys. Absent: any non-empty Bearer key. */
  arkApiKeys?: readonly string[];
  /** The accepted DashScope keys. Absent: any non-empty Bearer key. */
  dashscopeApiKeys?: readonly string[];
  /** The accepted keys of any API. Absent for an API: any non-empty key. */
  apiKeys?: Readonly<Partial<Record<ProviderName, readonly string[]>>>;
  /** Ark endpoint ids (`ep-…`) or other names that the emulator does not know, each with the name of a model that it knows. */
  arkEndpoints?: Readonly<Record<string, string>>;
  /**
   * The time that an image takes, in milliseconds. Default 0. The real models take 19 to 60 seconds. For a task it counts
   * by the emulator's clock `now`.
   */
  millisecondsPerImage?: number;
  /** The time that a task waits before it runs, in milliseconds by the emulator's clock. Default 0. */
  millisecondsInQueue?: number;
  /** Determines all random values: ids, the seeds of images, the probability of faults. Default: a random seed. */
  seed?: number;
  /**
   * The origin of result links if `fetch` is used without `listen`, such as `http://localhost:3000`. Default: the origin
   * of the request, so that the same `fetch` also serves the links.
   */
  origin?: string;
}

/** The options with their defaults. */
export interface Settings extends EmulatorOptions {
  readonly now: () => number;
  readonly images: ImageMode;
  readonly arkEndpoints: Readonly<Record<string, string>>;
  readonly millisecondsPerImage: number;
  readonly millisecondsInQueue: number;
  readonly seed: number;
}

/** Throws a `TypeError` if an option has an old name. */
export function applyDefaults(options: EmulatorOptions): Settings {
  if ("pictures" in options) throw new TypeError('The option "pictures" is now called "images".');
  return {
    now: Date.now,
    images: "full",
    arkEndpoints: {},
    millisecondsPerImage: 0,
    millisecondsInQueue: 0,
    seed: randomInt(2 ** 31),
    ...options,
  };
}
