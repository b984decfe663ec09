import type { AdmissionStore } from "@calotype/core/stores";
import { afterEach, beforeEach } from "vitest";

/** A store under test, and its clock. */
export interface OpenedStore {
  readonly store: AdmissionStore;
  /** The store's time, milliseconds since 1970. */
  readonly now: () => number;
  /** Advances the clock of the store, or waits if the clock is real. */
  readonly advance: (milliseconds: number) => Promise<void>;
  /** The time that may pass in addition. 0 for a clock that only the test moves. */
  readonly slackMs: number;
  /** Closes connections, and removes stored values. */
  readonly close?: (() => Promise<void>) | undefined;
}

/** Opens a new, empty store. */
export type OpenStore = () => OpenedStore | Promise<OpenedStore>;

/** Opens a new store for each test of the `describe` that calls this. */
export function useStore(open: OpenStore): () => OpenedStore {
  let opened: OpenedStore | undefined;
  beforeEach(async () => {
    opened = await open();
  });
  afterEach(async () => {
    await opened?.close?.();
    opened = undefined;
  });
  return () => {
    if (opened === undefined) throw new Error("The store is open only while a test runs.");
    return opened;
  };
}
