import { createGateway, type Gateway } from "@calotype/core";
import express, { type Express, type Request } from "express";
import { expect, it, onTestFinished } from "vitest";
import { listen } from "../support/listen.js";
import { useProviders } from "../support/use-providers.js";
import { loadRecipe } from "./load-recipe.js";

/* Runs the code of docs/prepaid.md. */

interface Recipe {
  readonly addPayment: (id: string, user: string, cents: number) => void;
  readonly addImages: (
    app: Express,
    gateway: Gateway,
    findUser: (req: Request) => Promise<{ id: string } | undefined>,
  ) => void;
}

const providers = useProviders({ images: "tiny" });

it("lets a user spend what the user has paid, and no more", async () => {
  const { addPayment, addImages } = (await loadRecipe("docs/prepaid.md", "prepaid.ts", {
    "payments.db": ":memory:",
  })) as Recipe;
  const baseUrl = providers().server.arkBaseUrl;
  const gateway = createGateway({
    models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: "any", baseUrl }],
    callers: [],
    billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.25" } } },
  });
  const app = express();
  addImages(app, gateway, async (req) => {
    const id = req.get("x-user");
    return id === undefined ? undefined : { id };
  });
  const server = await listen(app);
  onTestFinished(server.close);
  const headers = { origin: server.url, "content-type": "application/json", "x-user": "Zb3k" };
  const make = async (n: number): Promise<number> => {
    const body = JSON.stringify({ model: "doubao-seedream-4-5-251128", prompt: "an oak", n });
    return (await fetch(`${server.url}/ai/v1/images/generations`, { method: "POST", headers, body })).status;
  };
  const readCredit = async () => (await fetch(`${server.url}/credit`, { headers })).json();

  expect((await fetch(`${server.url}/credit`)).status).toBe(401);
  expect(await make(1)).toBe(403);
  addPayment("cs_1", "Zb3k", 105);
  addPayment("cs_1", "Zb3k", 105);
  addPayment("cs_2", "another", 5_000);
  expect(await make(4)).toBe(200);
  expect(await readCredit()).toEqual({ settled: "1", held: "0", limit: "1.05", left: "0.05" });
  expect(await make(1)).toBe(403);
  addPayment("cs_3", "Zb3k", 45);
  expect(await make(1)).toBe(200);
  expect(await readCredit()).toEqual({ settled: "1.25", held: "0", limit: "1.50", left: "0.25" });
  // A refund
  addPayment("re_1", "Zb3k", -20);
  expect(await readCredit()).toEqual({ settled: "1.25", held: "0", limit: "1.30", left: "0.05" });
});
