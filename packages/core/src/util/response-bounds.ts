import { JsonWalker, type JsonWalkHandler, type WalkLimits } from "./json-walker.js";

/*
 * What a provider's response may hold. JSON is counted before it is parsed: `JSON.parse` takes up to 3 µs for a key that it has
 * not seen before, so 4 MB of keys would stop the process for a second and 40 MB for 13 s.
 */

/** A response of 15 images has about 200 values. The largest number takes `JSON.parse` 30 ms at most. */
export const RESPONSE_BOUNDS: WalkLimits = { maxDepth: 64, maxValues: 10_000, maxBareBytes: 1024 * 1024 };

/** The maximum size of JSON without long base64, in bytes: of a response that can only hold links, and of what is around base64. */
export const MAX_OUTLINE_BYTES = 4 * 1024 * 1024;

/** The maximum length of the data of an event that is parsed, in characters. Its long strings are shortened before. */
export const MAX_EVENT_DATA = 64 * 1024;

/** Shorter JSON is parsed at once: even if it consists of keys, that takes less than 10 ms. */
const UNCOUNTED_BYTES = 16 * 1024;

const NO_HANDLER: JsonWalkHandler = { onBegin() {}, onEnd() {} };

/** False if JSON holds more than `RESPONSE_BOUNDS` allow. It must not be parsed then. */
export function isWithinBounds(chunks: readonly Uint8Array[]): boolean {
  if (chunks.reduce((sum, { length }) => sum + length, 0) <= UNCOUNTED_BYTES) return true;
  const walker = new JsonWalker(NO_HANDLER, RESPONSE_BOUNDS);
  for (const chunk of chunks) walker.push(chunk);
  return walker.status() !== "excessive";
}
