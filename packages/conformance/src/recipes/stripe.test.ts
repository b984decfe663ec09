import type { IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import type { UsageRecord } from "@calotype/core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { recordOf, unresolvedOf } from "../ledger-suite/entries.js";
import { type Listening, listen } from "../support/listen.js";
import { loadRecipe } from "./load-recipe.js";

/* Runs the code of docs/recipes/stripe.md against a server that responds like Stripe. */

interface Recipe {
  sendMeterEvents(records: readonly UsageRecord[]): Promise<void>;
  toMillionths(charge: string): string;
}

interface MeterEvent {
  readonly event_name: string;
  readonly identifier: string;
  readonly timestamp: string;
  readonly payload: { readonly stripe_customer_id: string; readonly value: string };
}

const SECRET = "sk_test_recipe";
let recipe: Recipe;
let stripe: Listening;
/** By identifier, because Stripe counts one once. */
const counted = new Map<string, MeterEvent>();
/** The number of events of each request. */
let sizes: number[] = [];
let tokens: string[] = [];
/** The token that is valid. */
let token = "";
let respond: (() => [status: number, body: object] | undefined) | undefined;

beforeAll(async () => {
  stripe = await listen((req, res) => void receive(req, res));
  process.env["STRIPE_API_KEY"] = SECRET;
  recipe = (await loadRecipe("docs/recipes/stripe.md", "stripe-meter.ts", {
    "https://meter-events.stripe.com": stripe.url,
    "https://api.stripe.com": stripe.url,
  })) as Recipe;
});
afterAll(async () => {
  delete process.env["STRIPE_API_KEY"];
  await stripe.close();
});
beforeEach(() => {
  counted.clear();
  sizes = [];
  respond = undefined;
});

async function receive(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const [status, body] = respondTo(req, (await json(req)) as { readonly events?: readonly MeterEvent[] });
  res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function respondTo(
  { url, method, headers }: IncomingMessage,
  { events = [] }: { readonly events?: readonly MeterEvent[] },
): [status: number, body: object] {
  const sent = headers.authorization?.replace("Bearer ", "");
  if (method !== "POST" || headers["stripe-version"] === undefined) return [400, error("bad request")];
  if (url === "/v2/billing/meter_event_session") {
    if (sent !== SECRET) return [401, error("Invalid API Key")];
    token = `token_${tokens.length}`;
    tokens.push(token);
    const expires_at = new Date(Date.now() + 900_000).toISOString();
    return [200, { object: "v2.billing.meter_event_session", authentication_token: token, expires_at }];
  }
  if (url !== "/v2/billing/meter_event_stream") return [404, error("no such path")];
  if (sent !== token) return [401, error("billing_meter_event_session_expired")];
  if (events.length === 0 || events.length > 100) return [400, error("from 1 to 100 events")];
  sizes.push(events.length);
  const other = respond?.();
  if (other !== undefined && other[0] !== 200) return other;
  for (const event of events) if (!counted.has(event.identifier)) counted.set(event.identifier, event);
  return [200, {}];
}

const error = (message: string): object => ({ error: { message } });

const RECORD = recordOf({
  id: "req_7b8a",
  time: "2026-11-21T04:38:32.660Z",
  caller: "user:Zb3k",
  charge: "0.05305",
});
const many = (count: number): UsageRecord[] =>
  Array.from({ length: count }, (_, at) => ({ ...RECORD, id: `req_${at}` }));
const sum = (): number =>
  [...counted.values()].reduce((total, { payload }) => total + Number(payload.value), 0);

describe("the recipe for Stripe meters", () => {
  it("sends one event for a record, with the record's id and time", async () => {
    await recipe.sendMeterEvents([RECORD]);
    expect([...counted.values()]).toEqual([
      {
        event_name: "image_charges",
        identifier: "req_7b8a",
        timestamp: "2026-11-21T04:38:32.660Z",
        payload: { stripe_customer_id: "cus_NciAYcXfLnqBoz", value: "53050" },
      },
    ]);
  });

  it.each<[string, UsageRecord]>([
    ["an unresolved record", unresolvedOf({ id: "req_1", caller: "user:Zb3k" })],
    ["a charge of 0", { ...RECORD, charge: "0" }],
    ["a record without a charge", { ...RECORD, charge: null }],
    ["another user", { ...RECORD, caller: "user:somebody-else" }],
    ["a caller with a key that has the id of a user", { ...RECORD, caller: "Zb3k" }],
  ])("sends nothing for %s", async (_what, record) => {
    await recipe.sendMeterEvents([record]);
    expect(sizes).toEqual([]);
  });

  it("sends at most 100 events in a request", async () => {
    await recipe.sendMeterEvents(many(250));
    expect(sizes).toEqual([100, 100, 50]);
    expect(sum()).toBe(250 * 53_050);
  });

  it("counts nothing twice when a batch that failed in the middle comes again with later records", async () => {
    let requests = 0;
    respond = () => (++requests === 2 ? [500, error("try again")] : undefined);
    await expect(recipe.sendMeterEvents(many(250))).rejects.toThrow("500");
    expect(counted.size).toBe(100);
    await recipe.sendMeterEvents(many(260));
    expect(sum()).toBe(260 * 53_050);
  });

  it("gets a new token if Stripe does not accept its own", async () => {
    await recipe.sendMeterEvents([RECORD]);
    const before = tokens.length;
    token = "another";
    await expect(recipe.sendMeterEvents([RECORD])).rejects.toThrow("401");
    await recipe.sendMeterEvents([RECORD]);
    expect(tokens).toHaveLength(before + 1);
    expect(counted.size).toBe(1);
  });

  it("converts charges exactly", () => {
    const charges = ["1", "0.25", "0.000001", "12345678901234567890.123456"];
    expect(charges.map((charge) => recipe.toMillionths(charge))).toEqual([
      "1000000",
      "250000",
      "1",
      "12345678901234567890123456",
    ]);
    expect(() => recipe.toMillionths("0.0599654")).toThrow("decimal_places");
  });
});
