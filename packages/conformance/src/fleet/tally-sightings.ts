import type { Sighting } from "../crashes/call-server.js";

/** Counts the requests by the status that their clients got. `cut` means that the response was incomplete. */
export function tallySightings(sightings: readonly Sighting[]): Readonly<Record<string, number>> {
  const byEnd = Map.groupBy(sightings, ({ end }) => String(end?.status ?? "cut"));
  return Object.fromEntries([...byEnd].map(([end, of]) => [end, of.length]));
}
