import { describe, expect, it } from "vitest";
import { CALLER_KEY, createPost, createTestGateway, GENERATIONS } from "./testing/test-gateway.js";

const EVENT =
  'event: image_generation.partial_succeeded\ndata: {"type":"image_generation.partial_succeeded","image_index":0,"url":"https://x","size":"2048x2048"}\n\n';

const waitUntilThatFails = (): never => {
  throw new Error("Not in this host.");
};

describe("a stream's Response", () => {
  it("that its host drops unread when the client leaves is settled all the same", async () => {
    const { gateway, records } = createTestGateway(
      () => new Response(EVENT, { headers: { "content-type": "text/event-stream" } }),
    );
    const client = new AbortController();
    const response = await gateway.fetch(
      new Request(GENERATIONS, {
        method: "POST",
        headers: { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "seedream-4-5-251128", prompt: "x", stream: true }),
        signal: client.signal,
      }),
    );
    expect(response.status).toBe(200);
    client.abort();
    await gateway.close();
    expect(records).toMatchObject([{ status: 200, images: 1 }]);
  });

  it("is settled before the time at which its host accepts no more work", async () => {
    const { gateway, records, logs } = createTestGateway(
      () => new Response(EVENT, { headers: { "content-type": "text/event-stream" } }),
    );
    let isOver = false;
    const waitUntil = (): void => {
      if (isOver) throw new Error("The request is over.");
    };
    const request = new Request(GENERATIONS, {
      method: "POST",
      headers: { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "seedream-4-5-251128", prompt: "x", stream: true }),
    });
    const response = await gateway.fetch(request, { waitUntil });
    isOver = true;
    expect(await response.text()).toBe(EVENT);
    await gateway.close();
    expect(records).toHaveLength(1);
    expect(logs).toEqual([]);
  });

  it("is held by a host whose waitUntil is a method, as in Workers", async () => {
    const held: Promise<unknown>[] = [];
    class Context {
      readonly #held = held;
      waitUntil(work: Promise<unknown>): void {
        this.#held.push(work);
      }
    }
    const { gateway, logs } = createTestGateway();
    await gateway.fetch(createPost({ model: "doodle", prompt: "x" }), new Context());
    expect(held.length).toBeGreaterThan(0);
    expect(logs).toEqual([]);
  });

  it("is complete although the host's waitUntil fails, which is logged", async () => {
    const { gateway, records, logs } = createTestGateway();
    const request = new Request(GENERATIONS, {
      method: "POST",
      headers: { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "seedream-4-5-251128", prompt: "x" }),
    });
    expect((await gateway.fetch(request, { waitUntil: waitUntilThatFails })).status).toBe(200);
    await gateway.close();
    expect(records).toHaveLength(1);
    expect(logs[0]).toMatchObject({ level: "warn", message: "The host's waitUntil failed." });
  });
});
