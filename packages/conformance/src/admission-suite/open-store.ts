import type { AdmissionStore } from "@calotype/core";
import { afterEach, beforeEach } from "vitest";

/** A store under test, and its time. */
export interface OpenedStore {
  readonly store: AdmissionStore;
  /** The store's time, milliseconds since 1970. */
  readonly now: () => number;
  /** Lets so much of the store's time pass: by a clock of the test's, or by waiting. */
  readonly advance: (milliseconds: number) => Promise<void>;
  /** So much time may pass beside that; 0 for a clock that only the test moves. */
  readonly slackMs: number;
  /** Ends whatever is open, and removes what was stored. */
  readonly close?: (() => Promise<void>) | undefined;
}

/** Opens a fresh, empty store. */
export type OpenStore = () => OpenedStore | Promise<OpenedStore>;

/** A fresh store for each test of the `describe` that calls it. */
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
