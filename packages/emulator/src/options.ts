import { randomInt } from "node:crypto";

/** Options of an emulator. Each has a default. */
export interface EmulatorOptions {
  /** Returns milliseconds since the epoch. Default `Date.now`. Sets `created` and the expiry of links. */
  now?: () => number;
  /**
   * `full` (default): images have exactly the requested size. `tiny`: images are small and have about the requested
   * shape, for load tests; `size` and `usage` still report the requested size.
   */
  images?: "full" | "tiny";
  /** How long a result link is valid, in seconds. Default 86400, as with both providers. */
  linkTtlSeconds?: number;
  /** The accepted Ark keys. Absent: any non-empty Bearer key. */
  arkApiKeys?: readonly string[];
  /** The accepted DashScope keys. Absent: any non-empty Bearer key. */
  dashscopeApiKeys?: readonly string[];
  /** Ark endpoint ids (`ep-…`) or other names that the emulator does not know, each with the name of a model that it knows. */
  arkEndpoints?: Readonly<Record<string, string>>;
  /** The time that an image takes, in milliseconds. Default 0. The real models take 19 to 60 seconds. */
  millisecondsPerImage?: number;
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
  readonly images: "full" | "tiny";
  readonly linkTtlSeconds: number;
  readonly arkEndpoints: Readonly<Record<string, string>>;
  readonly millisecondsPerImage: number;
  readonly seed: number;
}

/** Throws a `TypeError` if an option has an old name. */
export function applyDefaults(options: EmulatorOptions): Settings {
  if ("pictures" in options) throw new TypeError('The option "pictures" is now called "images".');
  return {
    now: Date.now,
    images: "full",
    linkTtlSeconds: 86_400,
    arkEndpoints: {},
    millisecondsPerImage: 0,
    seed: randomInt(2 ** 31),
    ...options,
  };
}
