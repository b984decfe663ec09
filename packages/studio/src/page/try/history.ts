import { readStored, writeStored } from "../settings.js";
import type { Draft } from "./draft.js";

/** What this browser remembers of a request: no image, and no answer. */
export type PastDraft = Omit<Draft, "references" | "compared">;

const NAME = "history";
const MAX = 20;

/** The last requests, the newest first. */
export function readHistory(): readonly PastDraft[] {
  try {
    const value: unknown = JSON.parse(readStored(NAME) ?? "[]");
    return Array.isArray(value) ? value.filter(isPastDraft).slice(0, MAX) : [];
  } catch {
    // An older version, or another page of this origin, wrote something else.
    return [];
  }
}

/** Adds a request, and returns the history. The same request is kept once. */
export function addToHistory(draft: Draft): readonly PastDraft[] {
  const { references: _references, compared: _compared, ...past } = draft;
  const same = JSON.stringify(past);
  const others = readHistory().filter((other) => JSON.stringify(other) !== same);
  const history = [past, ...others].slice(0, MAX);
  writeStored(NAME, JSON.stringify(history));
  return history;
}

export function clearHistory(): void {
  writeStored(NAME, undefined);
}

function isPastDraft(value: unknown): value is PastDraft {
  if (typeof value !== "object" || value === null) return false;
  const texts = ["model", "prompt", "aspect", "resolution", "format", "background", "quality", "further"];
  const entries: Readonly<Record<string, unknown>> = Object.fromEntries(Object.entries(value));
  return typeof entries["count"] === "number" && texts.every((name) => typeof entries[name] === "string");
}
