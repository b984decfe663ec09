import { toRunningText } from "./claim-text.js";
import { type KeyNames, toSafeText } from "./key-names.js";
import type { RunningTicket } from "./renew-leases.js";
import { toMilliseconds } from "./to-milliseconds.js";

/** Keys and arguments of `scripts/renew.ts`, for tickets of this caller. None is renewed past its own lease. */
export function toRenewArguments(
  keys: KeyNames,
  leaseMs: number,
  { caller, batch }: { readonly caller: string; readonly batch: readonly RunningTicket[] },
): { readonly names: string[]; readonly args: string[] } {
  const places = new Map<string, string[]>();
  const claims: string[] = [];
  const claimArgs: string[] = [];
  for (const { ticket, ageMs } of batch) {
    for (const place of ticket.concurrency) {
      if (place.leaseMs <= ageMs) continue;
      const members = places.get(place.key) ?? [];
      members.push(toSafeText(ticket.id), toMilliseconds(Math.min(leaseMs, place.leaseMs - ageMs)));
      places.set(place.key, members);
    }
    const { idempotency } = ticket;
    if (idempotency === undefined || idempotency.leaseMs <= ageMs) continue;
    claims.push(keys.claim(caller, idempotency.key));
    const restMs = Math.min(leaseMs, idempotency.leaseMs - ageMs);
    claimArgs.push(toRunningText(idempotency, ticket.id), toMilliseconds(restMs));
  }
  const names = [...[...places.keys()].map((key) => keys.place(caller, key)), ...claims];
  const args = [String(places.size)];
  for (const members of places.values()) args.push(String(members.length / 2), ...members);
  return { names, args: [...args, ...claimArgs] };
}
