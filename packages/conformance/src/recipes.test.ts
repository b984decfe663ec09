import { rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import type { UsageRecord } from "@calotype/core";
import { transformSync } from "esbuild";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { extractFromMarkdown } from "./support/extract-code.js";
import { type Listening, listen } from "./support/listen.js";
import { ROOT, readText } from "./support/workspace.js";

/* Runs the code of docs/recipes/stripe.md against a server that responds like Stripe. */

const FILE = `${ROOT}/packages/conformance/node_modules/.stripe-meter.mjs`;

interface Recipe {
  sendMeterEvent(record: UsageRecord): Promise<void>;
  toMillionths(charge: string): string;
}

let recipe: Recipe;
let respond: () => [status: number, body: string];
const events: Record<string, string>[] = [];
let stripe: Listening;

beforeAll(async () => {
  stripe = await listen((req, res) => void receive(req, res));
  const path = "docs/recipes/stripe.md";
  const block = extractFromMarkdown(path, readText(path)).find(({ code }) =>
    code.startsWith("// stripe-meter.ts"),
  );
  if (block === undefined) throw new Error(`${path} shows no stripe-meter.ts.`);
  const code = block.code.replace("https://api.stripe.com", stripe.url);
  writeFileSync(FILE, transformSync(code, { loader: "ts", target: "node22" }).code);
  recipe = await import(pathToFileURL(FILE).href);
});
afterAll(async () => {
  rmSync(FILE, { force: true });
  await stripe.close();
});
beforeEach(() => {
  events.length = 0;
  respond = () => [200, "{}"];
});

async function receive(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const [status, body] = respond();
  if (status === 200) events.push(Object.fromEntries(new URLSearchParams(await text(req))));
  res.writeHead(status, { "content-type": "application/json" }).end(body);
}

const RECORD = {
  id: "req_7b8a",
  time: "2026-11-21T04:38:32.660Z",
  caller: "web-shop",
  state: "settled",
  charge: "0.05305",
} as UsageRecord;

describe("the recipe for Stripe meters", () => {
  it("sends one event for a record, with the record's id and time", async () => {
    await recipe.sendMeterEvent(RECORD);
    expect(events).toEqual([
      {
        event_name: "image_charges",
        identifier: "req_7b8a",
        timestamp: "1795235912",
        "payload[stripe_customer_id]": "cus_NciAYcXfLnqBoz",
        "payload[value]": "53050",
      },
    ]);
  });

  it.each([
    { ...RECORD, state: "unresolved" },
    { ...RECORD, charge: "0" },
    { ...RECORD, charge: null },
    { ...RECORD, caller: "somebody-else" },
  ])("sends nothing for $caller, $state, $charge", async (record) => {
    await recipe.sendMeterEvent(record as UsageRecord);
    expect(events).toEqual([]);
  });

  it("accepts a record that Stripe knows, and fails for every other refusal", async () => {
    respond = () => [400, '{"error":{"message":"An event already exists with identifier req_7b8a."}}'];
    await expect(recipe.sendMeterEvent(RECORD)).resolves.toBeUndefined();
    respond = () => [400, '{"error":{"message":"No such customer"}}'];
    await expect(recipe.sendMeterEvent(RECORD)).rejects.toThrow("No such customer");
    respond = () => [429, "{}"];
    await expect(recipe.sendMeterEvent(RECORD)).rejects.toThrow("429");
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
