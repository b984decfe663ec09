import { describe, expect, it } from "vitest";
import { CALLER_KEY, createTestGateway, GENERATIONS } from "./testing/test-gateway.js";

/** An object that counts how often all its fields are enumerated. */
function countPasses(fields: object): { readonly value: object; readonly passes: () => number } {
  let passes = 0;
  const value = new Proxy(fields, {
    ownKeys(target) {
      passes++;
      return Reflect.ownKeys(target);
    },
  });
  return { value, passes: () => passes };
}

async function send(parsedBody: object, headers: Record<string, string> = {}): Promise<number | undefined> {
  const { gateway } = createTestGateway();
  const response = await gateway.handle({
    method: "POST",
    url: GENERATIONS,
    headers: new Headers({
      authorization: `Bearer ${CALLER_KEY}`,
      "content-type": "application/json",
      ...headers,
    }),
    body: null,
    parsedBody,
    bodyConsumed: true,
    signal: new AbortController().signal,
  });
  return response?.status;
}

const wide = { a: 1, b: { c: 2 } };

describe("an object inside of a body", () => {
  it("that is only forwarded is traversed once to check its size, once to check its links, and once to send it", async () => {
    const { value, passes } = countPasses(wide);
    expect(await send({ model: "doodle", prompt: "x", tools: { deeper: [value] } })).toBe(200);
    expect(passes()).toBe(3);
  });

  it("with an idempotency key is traversed once more", async () => {
    const { value, passes } = countPasses(wide);
    const headers = { "idempotency-key": "one" };
    expect(await send({ model: "doodle", prompt: "x", tools: { deeper: [value] } }, headers)).toBe(200);
    expect(passes()).toBe(4);
  });

  it("that is interpreted is traversed a few times, and its contents not more often than other fields", async () => {
    const parameters = countPasses({ n: 1, more: 2 });
    const inner = countPasses(wide);
    const messages = [{ role: "user", content: [{ text: "x", inner: inner.value }] }];
    const body = { model: "image-max", prompt: "x", input: { messages }, parameters: parameters.value };
    expect(await send(body)).toBe(200);
    expect(parameters.passes()).toBeLessThanOrEqual(5);
    expect(inner.passes()).toBe(3);
  });
});
