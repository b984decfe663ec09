import type { Gateway } from "@calotype/core";
import express, { type Express, type Request } from "express";
import { expect, it, onTestFinished } from "vitest";
import { listen } from "../support/listen.js";
import { SEEDREAM, startGateway } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { loadRecipe } from "./load-recipe.js";

interface Recipe {
  readonly addPayment: (id: string, user: string, cents: number) => void;
  readonly addImages: (app: Express, gateway: Gateway, findUser: object) => void;
}

const providers = useProviders();

it("docs/prepaid.md lets a user spend what the user has paid, and no more", async () => {
  const replaced = { "payments.db": ":memory:" };
  const { addPayment, addImages } = (await loadRecipe("docs/prepaid.md", "prepaid.ts", replaced)) as Recipe;
  const app = express();
  const { gateway } = startGateway(providers(), { callers: [] });
  addImages(app, gateway, async (req: Request) => req.get("x-user") && { id: req.get("x-user") });
  const { url, close } = await listen(app);
  onTestFinished(close);
  const headers = { origin: url, "content-type": "application/json", "x-user": "Zb3k" };
  const make = async (n: number): Promise<number> => {
    const body = JSON.stringify({ model: SEEDREAM, prompt: "an oak", n });
    return (await fetch(`${url}/ai/v1/images/generations`, { method: "POST", headers, body })).status;
  };
  expect([(await fetch(`${url}/credit`)).status, await make(1)]).toEqual([401, 403]);
  for (const id of ["cs_1", "cs_1"]) addPayment(id, "Zb3k", 105);
  addPayment("cs_2", "another", 5_000);
  expect(await make(10)).toBe(200);
  const credit = await fetch(`${url}/credit`, { headers });
  expect(await credit.json()).toEqual({ settled: "0.3", held: "0", limit: "1.05", left: "0.75" });
  addPayment("refund", "Zb3k", -75);
  expect(await make(1)).toBe(403);
  addPayment("cs_3", "Zb3k", 3);
  expect([await make(1), await make(1)]).toEqual([200, 403]);
});
