import type { LostPolicy, UsageRecord } from "@calotype/core/billing";
import { fromUnits, toUnits } from "../ledger-suite/units.ts";
import { modelOf, promptOf, type Sighting } from "./call-server.ts";
import type { Site } from "./open-site.ts";
import type { LedgerContent } from "./read-ledger-file.ts";
import { CALLERS, PRICE } from "./server-plan.ts";

/**
 * The facts that the ledger is compared with: the results of the clients, and the requests of the provider.
 */
export type Evidence = Pick<Site, "emulator" | "sightings" | "onLost">;

/** Returns the errors in the ledger, without those of tasks. No request may be in progress. */
export function findProblems(site: Evidence, content: LedgerContent): string[] {
  const { sightings, onLost } = site;
  const prompts = readPrompts(site);
  const records = content.records.filter(({ task }) => task === undefined);
  const byModel = Map.groupBy(records, ({ model }) => model);
  const requests = sightings.flatMap((sighting) => {
    const [record, ...others] = byModel.get(modelOf(sighting)) ?? [];
    const facts = { sighting, record, isReceived: prompts.has(promptOf(sighting)), onLost };
    const problem = others.length > 0 ? "has more than one record" : judge(facts);
    return problem === undefined ? [] : [`A request ${problem}: ${JSON.stringify(facts)}`];
  });
  const asked = new Set(sightings.map(modelOf));
  const strangers = records.filter(({ model }) => !asked.has(model));
  return [
    ...requests,
    ...strangers.map((record) => `Nobody asked for ${JSON.stringify(record)}`),
    ...findWrongBalances(content),
  ];
}

/** The requests that the provider got. */
export function readPrompts(site: Pick<Evidence, "emulator">): ReadonlySet<unknown> {
  return new Set(listPrompts(site));
}

/** The prompt of each request that the provider got. */
export function listPrompts({ emulator: { requests } }: Pick<Evidence, "emulator">): readonly string[] {
  // The emulator forgets the oldest requests.
  if (requests.length >= 1000) throw new Error("More requests than the emulator remembers.");
  const calls = requests.filter(({ route }) => route !== "link");
  return calls.map(({ bodyText }) => {
    const body: { prompt: string } = JSON.parse(bodyText);
    return body.prompt;
  });
}

/** How many calls of the provider a request may take. */
export function countCalls({ n, single = false }: Pick<Sighting, "n" | "single">): number {
  return single ? n : 1;
}

interface Facts {
  readonly sighting: Sighting;
  readonly record: UsageRecord | undefined;
  /** By the provider. */
  readonly isReceived: boolean;
  readonly onLost: LostPolicy;
}

/** Returns the errors about one request. */
function judge({ sighting: { id, end, n }, record, isReceived, onLost }: Facts): string | undefined {
  if (record === undefined) return isReceived ? "reached its provider and left no record" : undefined;
  if (id !== undefined && record.id !== id) return "has another id than its client was told";
  if (record.state === "unresolved") {
    // A server that closes tells the clients of requests that it cuts off that they failed.
    if (end?.isFailure === false) return "had a complete response and is unresolved";
    if (record.held !== priceOf(n)) return "held a wrong amount";
    return record.charge === (onLost === "charge" ? record.held : "0") ? undefined : "lost a wrong amount";
  }
  if (record.state === "released") return "was released, although nothing paused its process";
  if (!isReceived) return "is settled and reached no provider";
  if (record.charge !== priceOf(record.images)) return "has a wrong charge";
  if (record.images > n) return "has more images than were held for";
  if (end === undefined) return undefined;
  return record.status === end.status && record.images === end.images ? undefined : "tells another end";
}

/** The price of this number of images. */
export function priceOf(images: number): string {
  return fromUnits(toUnits(PRICE) * BigInt(images));
}

function findWrongBalances({ records, balances }: LedgerContent): string[] {
  return Object.entries(balances).flatMap(([caller, balance]) => {
    const charges = records.filter((record) => record.caller === caller).map(({ charge }) => toUnits(charge));
    const settled = charges.reduce((sum, charge) => sum + charge, 0n);
    if (caller === "trial" && settled > toUnits(CALLERS.trial.budget)) return ["The budget is overdrawn"];
    const isRight = balance.settled === fromUnits(settled) && balance.held === "0";
    return isRight
      ? []
      : [`${caller} settled ${fromUnits(settled)}, and has the balance ${JSON.stringify(balance)}`];
  });
}
