import { describe, expect, it } from "vitest";
import { CALLER_KEY, MODEL, openStudio } from "../testing/open-studio.js";

describe("search", () => {
  it.each([
    ["", { callers: ["shop", "web-shop"], models: [MODEL], channels: ["ark"] }],
    ["AR", { callers: [], models: [], channels: ["ark"] }],
    ["SHOP", { callers: ["shop", "web-shop"], models: [], channels: [] }],
    ["web", { callers: ["web-shop"], models: [], channels: [] }],
    ["4-0", { callers: [], models: [MODEL], channels: [] }],
    ["<script>", { callers: [], models: [], channels: [] }],
  ])("finds callers, channels and models by %j", async (text, found) => {
    const { gateway, send } = openStudio();
    await gateway.callers.create({ id: "web-shop" });

    const { status, json } = await send({ path: `/api/search?${new URLSearchParams({ text }).toString()}` });

    expect(status).toBe(200);
    expect(json).toEqual(found);
  });

  it("finds a request by its id, and by nothing less", async () => {
    const { send } = openStudio();
    const made = await send({
      method: "POST",
      path: "/api/images/generations",
      headers: { "x-calotype-studio-key": CALLER_KEY },
      body: { model: MODEL, prompt: "a fox" },
    });
    const id = made.headers["x-request-id"] ?? "";

    const whole = await send({ path: `/api/search?text=${id}` });
    const part = await send({ path: `/api/search?text=${id.slice(0, -1)}` });

    expect(whole.json).toMatchObject({ request: { id, caller: "shop", charge: "0.2" } });
    expect(part.json).not.toHaveProperty("request");
  });

  it("reads callers beyond the first page, and returns eight at most", async () => {
    const { gateway, send } = openStudio();
    for (let index = 0; index < 120; index++) {
      await gateway.callers.create({ id: `team-${String(index).padStart(3, "0")}` });
    }

    const last = await send({ path: "/api/search?text=team-119" });
    const many = await send({ path: "/api/search?text=team" });

    expect(last.json).toMatchObject({ callers: ["team-119"] });
    expect(many.json).toMatchObject({ callers: { length: 8 } });
  });

  it("refuses a text that is too long", async () => {
    const { status, json } = await openStudio().send({ path: `/api/search?text=${"a".repeat(257)}` });

    expect(status).toBe(400);
    expect(json).toMatchObject({ error: { param: "text" } });
  });
});
