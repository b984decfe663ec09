import type { ImageRequest } from "@calotype/client";

/** Where a hook keeps what it needs after a reload: `sessionStorage`, `localStorage`, or an object of your own. */
export type ImagesStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** What is kept of a call: a request that is being submitted, or its task. */
export type StoredCall =
  | { readonly task: string }
  | { readonly request: ImageRequest; readonly idempotencyKey: string; readonly at: number };

/** A request that was not submitted within this time is not submitted any more: nobody waits for it. */
const MAX_AGE_MS = 600_000;

/** The place of one call in a storage. A storage that cannot be used keeps nothing. */
export class CallSlot {
  readonly #storage: ImagesStorage | undefined;
  readonly #key: string;

  /** @param storage `undefined`: the `sessionStorage` of the page */
  constructor(key: string, storage: ImagesStorage | undefined) {
    this.#key = key;
    this.#storage = storage ?? findSessionStorage();
  }

  read(): StoredCall | undefined {
    try {
      const text = this.#storage?.getItem(this.#key) ?? null;
      const stored: Partial<StoredCall & { readonly at: number }> | null =
        text === null ? null : JSON.parse(text);
      return isStoredCall(stored) ? stored : undefined;
    } catch {
      // Text of another program, or a storage that the user has turned off.
      return undefined;
    }
  }

  /** Whether it has nothing, or the request with this key. */
  holds(idempotencyKey: string): boolean {
    const stored = this.read();
    return stored === undefined || ("idempotencyKey" in stored && stored.idempotencyKey === idempotencyKey);
  }

  write(call: StoredCall): void {
    try {
      this.#storage?.setItem(this.#key, JSON.stringify(call));
    } catch {
      // Full, such as by data URLs, or turned off. What was there before is of another call.
      this.clear();
    }
  }

  clear(): void {
    try {
      this.#storage?.removeItem(this.#key);
    } catch {
      // Turned off, so there is nothing in it.
    }
  }
}

function isStoredCall(stored: unknown): stored is StoredCall {
  if (typeof stored !== "object" || stored === null) return false;
  if ("task" in stored) return typeof stored.task === "string";
  const isComplete = "request" in stored && "idempotencyKey" in stored && "at" in stored;
  return isComplete && typeof stored.at === "number" && Date.now() - stored.at < MAX_AGE_MS;
}

function findSessionStorage(): ImagesStorage | undefined {
  try {
    return globalThis.sessionStorage;
  } catch {
    // The user has turned it off for this page.
    return undefined;
  }
}
