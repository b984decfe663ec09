import { afterAll, afterEach, beforeAll } from "vitest";
import { type Fleet, openFleet, type Place } from "./open-fleet.js";

/**
 * The fleet of a group of tests. It is started before the first test, and its provider is reset after each
 * test.
 */
export function useFleet(count: number, place: Place): () => Fleet {
  let fleet: Fleet | undefined;
  beforeAll(async () => {
    fleet = await openFleet(count, place);
  });
  afterEach(() => fleet?.emulator.reset());
  afterAll(() => fleet?.close());
  return () => {
    if (fleet === undefined) throw new Error("The fleet starts with the first test.");
    return fleet;
  };
}
