import type { IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import type { UsageRecord } from "@calotype/core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { recordOf, releasedOf, unresolvedOf } from "../ledger-suite/entries.js";
import { type Listening, listen } from "../support/listen.js";
import { loadRecipe } from "./load-recipe.js";

/* Runs the code of docs/recipes/openmeter.md against a server that checks CloudEvents and counts as OpenMeter does. */

type Event = Readonly<Record<string, unknown>> & { readonly data: { readonly images: number } };

let openmeter: Listening;
let send: (records: readonly UsageRecord[]) => Promise<void>;
const counted = new Map<string, Event>();
let requests = 0;
let losesResponse = false;

beforeAll(async () => {
  openmeter = await listen((req, res) => void receive(req, res));
  process.env["OPENMETER_URL"] = openmeter.url;
  process.env["OPENMETER_API_KEY"] = "om_recipe";
  const recipe = (await loadRecipe("docs/recipes/openmeter.md", "openmeter-usage.ts")) as {
    readonly sendUsageEvents: typeof send;
  };
  send = recipe.sendUsageEvents;
});
afterAll(async () => {
  delete process.env["OPENMETER_URL"];
  delete process.env["OPENMETER_API_KEY"];
  await openmeter.close();
});
beforeEach(() => {
  counted.clear();
  requests = 0;
  losesResponse = false;
});

async function receive(req: IncomingMessage, res: ServerResponse): Promise<void> {
  requests += 1;
  const problem = findProblem(req, await json(req));
  if (problem !== undefined) {
    res
      .writeHead(400, { "content-type": "application/problem+json" })
      .end(JSON.stringify({ detail: problem }));
  } else if (losesResponse) req.socket.destroy();
  else res.writeHead(204).end();
}

/** Checks the required attributes of CloudEvents 1.0, and counts the events. */
function findProblem({ url, method, headers }: IncomingMessage, events: unknown): string | undefined {
  if (method !== "POST" || url !== "/api/v1/events") return "no such path";
  if (headers.authorization !== "Bearer om_recipe") return "no key";
  if (headers["content-type"] !== "application/cloudevents-batch+json")
    return "the content type is not that of a batch";
  if (!Array.isArray(events) || events.length === 0) return "not a list of events";
  for (const event of events) {
    if (event.specversion !== "1.0") return "another version";
    const isComplete = ["id", "source", "type", "subject"].every(
      (name) => typeof event[name] === "string" && event[name] !== "",
    );
    if (!isComplete) return "an attribute is missing";
    if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(event.time))
      return "not a time of RFC 3339";
    const key = `${event.source} ${event.id}`;
    if (!counted.has(key)) counted.set(key, event);
  }
  return undefined;
}

const images = (): number => [...counted.values()].reduce((sum, { data }) => sum + data.images, 0);
const FIRST = recordOf({ id: "req_1", caller: "web-shop", images: 2, charge: "0.05305" });
const SECOND = recordOf({ id: "req_2", caller: "web-shop", images: 3, charge: "0.1" });

describe("the recipe for OpenMeter", () => {
  it("sends a batch of CloudEvents, with exact charges", async () => {
    await send([FIRST, SECOND]);
    expect(requests).toBe(1);
    expect(images()).toBe(5);
    expect([...counted.values()][0]).toMatchObject({
      source: "calotype",
      id: "req_1",
      subject: "web-shop",
      data: { charge: "0.05305", images: 2 },
    });
  });

  it("counts nothing twice when the response was lost and the batch comes again with a later record", async () => {
    losesResponse = true;
    await expect(send([FIRST])).rejects.toThrow("fetch failed");
    losesResponse = false;
    await send([FIRST, SECOND]);
    expect(images()).toBe(5);
  });

  it("counts a request whose outcome became known once, and one that made nothing not at all", async () => {
    await send([unresolvedOf({ id: "req_1" }), unresolvedOf({ id: "req_3" })]);
    expect(requests).toBe(0);
    await send([{ ...FIRST, late: true }, releasedOf({ id: "req_3" })]);
    expect([...counted.keys()]).toEqual(["calotype req_1"]);
  });

  it("fails if OpenMeter refuses the batch", async () => {
    await expect(send([{ ...FIRST, time: "yesterday" }])).rejects.toThrow("400");
  });
});
