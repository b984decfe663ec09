import OpenAI, { BadRequestError } from "openai";
import { describe, expect, it, vi } from "vitest";
import { useProviders } from "../support/use-providers.js";
import { failureOf } from "./support/failure-of.js";
import { CALLER_KEY, SEEDREAM, serve } from "./support/serve.js";

const providers = useProviders({ images: "tiny", millisecondsPerImage: 100 });

async function connect() {
  const { url, records } = await serve(providers(), { basePath: "/ai", chatCompletions: true });
  const client = new OpenAI({ baseURL: `${url}/ai/v1`, apiKey: CALLER_KEY, maxRetries: 0 });
  return { client, records };
}

const FOX = { model: SEEDREAM, messages: [{ role: "user" as const, content: "3 images of a fox" }], n: 3 };

describe("a chat completion of the openai client", () => {
  it("is charged like every request, and has its header fields", async () => {
    const { client, records } = await connect();
    const { data, response } = await client.chat.completions.create(FOX).withResponse();
    expect(data.choices[0]?.message.content?.match(/!\[image \d\]\(http/g)).toHaveLength(3);
    expect(data.id).toBe(`chatcmpl-${response.headers.get("x-request-id")}`);
    expect(records).toMatchObject([{ operation: "generate", images: 3, charge: "0.09" }]);
  });

  it("is refused with an error that names the field, and nothing is charged", async () => {
    const { client, records } = await connect();
    const error = await failureOf(client.chat.completions.create({ ...FOX, messages: [] }));
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ status: 400, param: "messages", type: "invalid_request_error" });
    expect(records).toEqual([]);
  });

  it("streams the images as they arrive, and is charged for all if the client leaves after the first", async () => {
    const { client, records } = await connect();
    const chunks = await client.chat.completions.create({ ...FOX, stream: true });
    for await (const { choices } of chunks) {
      expect(choices[0]?.delta.content).toMatch(/^!\[image 1\]/);
      expect(records).toEqual([]);
      break;
    }
    await vi.waitFor(() => expect(records).toMatchObject([{ images: 3, charge: "0.09" }]), 5_000);
  });

  it("throws the error of the provider", async () => {
    const { client } = await connect();
    providers().emulator.faults.add({ code: "InternalServiceError", times: 1 });
    const error = await failureOf(client.chat.completions.create({ ...FOX, stream: true }));
    expect(error).toMatchObject({ code: "InternalServiceError" });
  });
});
