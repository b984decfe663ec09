import { toRunningText } from "./claim-text.js";
import { type KeyNames, toSafeText } from "./key-names.js";
import type { RunningRequest } from "./renew-leases.js";
import { toMilliseconds } from "./to-milliseconds.js";

/** Keys and arguments of `scripts/renew.ts`, for requests of this caller. None is renewed past its own lease. */
export function toRenewArguments(
  keys: KeyNames,
  leaseMs: number,
  { caller, batch }: { readonly caller: string; readonly batch: readonly RunningRequest[] },
): { readonly names: string[]; readonly args: string[] } {
  const places = new Map<string, string[]>();
  const claims: string[] = [];
  const claimArgs: string[] = [];
  for (const { request, ageMs } of batch) {
    for (const place of request.concurrency) {
      if (place.leaseMs <= ageMs) continue;
      const members = places.get(place.key) ?? [];
      members.push(toSafeText(request.id), toMilliseconds(Math.min(leaseMs, place.leaseMs - ageMs)));
      places.set(place.key, members);
    }
    const { idempotency } = request;
    if (idempotency === undefined || idempotency.leaseMs <= ageMs) continue;
    claims.push(keys.claim(caller, idempotency.key));
    const restMs = Math.min(leaseMs, idempotency.leaseMs - ageMs);
    claimArgs.push(toRunningText(idempotency, request.id), toMilliseconds(restMs));
  }
  const names = [...[...places.keys()].map((key) => keys.place(caller, key)), ...claims];
  const args = [String(places.size)];
  for (const members of places.values()) args.push(String(members.length / 2), ...members);
  return { names, args: [...args, ...claimArgs] };
}
