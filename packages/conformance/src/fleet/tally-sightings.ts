import type { Sighting } from "../crashes/call-server.js";

/** How many requests ended with each status, as their clients saw it; `cut` had no end. */
export function tallySightings(sightings: readonly Sighting[]): Readonly<Record<string, number>> {
  const byEnd = Map.groupBy(sightings, ({ end }) => String(end?.status ?? "cut"));
  return Object.fromEntries([...byEnd].map(([end, of]) => [end, of.length]));
}
