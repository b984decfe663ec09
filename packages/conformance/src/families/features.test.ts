import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { GatewayOptions } from "@calotype/core";
import type { Capabilities } from "@calotype/core/families";
import { createFileStore } from "@calotype/node";
import sharp from "sharp";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { useProviders } from "../support/use-providers.ts";
import { CALLER_KEY, type OpenedService, openService } from "./open-service.ts";
import { type FamilyService, SERVICES } from "./services.ts";

const providers = useProviders({ images: "tiny" });

const GENERATIONS = "/v1/images/generations";
const PROMPT = "2 images of a red fox";
const PNG = await sharp({ create: { width: 512, height: 512, channels: 3, background: "#cc3333" } })
  .png()
  .toBuffer();
const IMAGE = `data:image/png;base64,${PNG.toString("base64")}`;

/** A caller with these options. */
const asCaller = (caller: object): Partial<GatewayOptions> => ({
  callers: [{ id: "tester", key: CALLER_KEY, ...caller }],
});

async function createResults(): Promise<Pick<GatewayOptions, "results">> {
  const directory = await mkdtemp(join(tmpdir(), "calotype-families-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  return { results: { store: createFileStore({ directory }) } };
}

const open = (service: FamilyService, options?: Parameters<typeof openService>[2]): Promise<OpenedService> =>
  openService(providers(), service, options);

/** The row of the model, but with one image per call. */
function withOneImagePerCall({ family, model }: FamilyService) {
  const row: Partial<ModelRow> = family.findCapabilities?.(model) ?? {};
  const { names: _names, upstreamNames: _upstreamNames, note: _note, ...facts } = row;
  return { capabilities: { ...facts, imagesPerCall: 1 } };
}

type ModelRow = Capabilities & Readonly<Record<"names" | "upstreamNames" | "note", unknown>>;

/** The format of images that the profile of each client sets; `undefined` for the provider's own. */
const PROFILES: Readonly<Record<string, "b64_json" | undefined>> = {
  openai: "b64_json",
  "ai-sdk": "b64_json",
  langchain: undefined,
  "open-webui": "b64_json",
  librechat: "b64_json",
  lobehub: undefined,
  dify: "b64_json",
  n8n: "b64_json",
  litellm: undefined,
  comfyui: undefined,
};

/** Every feature of the gateway that a family can break, and how it is tried with one of its models. */
const FEATURES: Readonly<Record<string, (service: FamilyService) => Promise<void>>> = {
  async "several calls: n images of a model with one image per call are one charge"(service) {
    const { send, calls, records } = await open(service, { model: withOneImagePerCall(service) });
    const { status, text } = await send(GENERATIONS, { model: service.model, prompt: "a red fox", n: 3 });
    expect([status, JSON.parse(text).data.length]).toEqual([200, 3]);
    expect(calls()).toHaveLength(3);
    expect(records).toMatchObject([{ images: 3, charge: "0.15", usage: { generated_images: 3 } }]);
  },

  async "several calls: the images of the others are delivered if one call fails"(service) {
    const { send, records } = await open(service, { model: withOneImagePerCall(service) });
    providers().emulator.faults.add({ provider: service.provider, times: 1, ...service.errors.server });
    const { status, text } = await send(GENERATIONS, { model: service.model, prompt: "a red fox", n: 2 });
    expect(status).toBe(200);
    const { data, extra } = JSON.parse(text);
    expect(data).toHaveLength(1);
    expect(extra.errors).toMatchObject([{ code: expect.any(String), message: expect.any(String) }]);
    expect(records).toMatchObject([{ images: 1, charge: "0.05" }]);
  },

  async "results: images are stored, and the link leads to the same image as the base64"(service) {
    const { send, records } = await open(service, { options: await createResults() });
    const request = { model: service.model, prompt: "a red fox", response_format: "b64_json" };
    const { status, text } = await send(GENERATIONS, request);
    expect(status).toBe(200);
    const [{ b64_json: content, stored_url: link }] = JSON.parse(text).data;
    const stored = await fetch(link);
    expect(Buffer.from(await stored.arrayBuffer()).toString("base64")).toBe(content);
    expect(records).toMatchObject([{ images: 1, charge: "0.05" }]);
  },

  async "tasks of the gateway: the result is that of a synchronous request, charged once"(service) {
    const { send, records, calls } = await open(service, { options: await createResults() });
    const request = { model: service.model, prompt: PROMPT, n: 2, response_format: "url" };
    const submitted = await send(GENERATIONS, request, { prefer: "respond-async" });
    expect(submitted.status).toBe(202);
    const sent = (): number => calls().length;
    const ended = await send(`${submitted.headers.get("location")}?wait=30`);
    const { status, result } = JSON.parse(ended.text);
    expect(status).toBe("completed");
    const links = result.data.map(({ url }: { readonly url: string }) => url);
    expect(links).toHaveLength(2);
    for (const link of links) expect((await fetch(link)).headers.get("content-type")).toMatch(/^image\//);
    expect(records).toMatchObject([{ images: 2, charge: "0.1", task: expect.any(String) }]);
    const before = sent();
    await send(String(submitted.headers.get("location")));
    expect(sent()).toBe(before);
  },

  async "results: the events of a stream have stored links"(service) {
    const { client, url, records } = await open(service, {
      options: { ...(await createResults()), streamFormat: "openai" },
    });
    const fields = { response_format: "url", stream: true } as const;
    const events = await client.images.generate({ model: service.model, prompt: "a red fox", ...fields });
    const links: unknown[] = [];
    for await (const event of events) {
      if (event.type === "image_generation.completed") links.push("url" in event && event.url);
    }
    expect(links).toEqual([expect.stringContaining(`${url}/v1/images/files/`)]);
    expect((await fetch(String(links[0]))).headers.get("content-type")).toMatch(/^image\//);
    expect(records).toMatchObject([{ images: 1, charge: "0.05" }]);
  },

  async "profiles: OpenAI's sizes are accepted, and the image has the format that the client reads"(service) {
    const callers = Object.keys(PROFILES).map((client) => ({ id: client, key: `key-of-${client}`, client }));
    const { send } = await open(service, { options: { callers } as Partial<GatewayOptions> });
    const request = { model: service.model, prompt: "a red fox", n: 1, size: "1792x1024", quality: "auto" };
    for (const { client, key } of callers) {
      const { status, text } = await send(GENERATIONS, request, { authorization: `Bearer ${key}` });
      const [image = {}] = JSON.parse(text).data ?? [];
      const format = PROFILES[client] ?? service.family.dialects?.[service.dialect ?? ""]?.delivers?.[0];
      expect([client, status, image]).toEqual([
        client,
        200,
        expect.objectContaining({ [format ?? service.family.delivers[0]]: expect.any(String) }),
      ]);
    }
  },

  async "profiles: the official client gets OpenAI's stream, also of an edit"(service) {
    const { client, send } = await open(service, { options: asCaller({ client: "openai" }) });
    const request = { model: service.model, prompt: "a red fox", size: "1024x1024", stream: true } as const;
    const types: string[] = [];
    for await (const { type } of await client.images.generate(request)) types.push(type);
    expect(types.at(-1)).toBe("image_generation.completed");
    const { status, text } = await send("/v1/images/edits", { ...request, images: [{ image_url: IMAGE }] });
    const takesImages = service.family.findCapabilities?.(service.model)?.references?.max !== 0;
    expect(status).toBe(takesImages ? 200 : 400);
    if (takesImages) expect(text.match(/^event: (\S+)$/gm)?.at(-1)).toBe("event: image_edit.completed");
  },

  async "limits: images per minute count n, and nothing is sent above them"(service) {
    const options = asCaller({ limits: { imagesPerMinute: 2 } });
    const { send, calls } = await open(service, { options });
    const request = { model: service.model, prompt: PROMPT };
    expect((await send(GENERATIONS, { ...request, n: 2 })).status).toBe(200);
    const sent = calls().length;
    const refused = await send(GENERATIONS, request);
    expect([refused.status, JSON.parse(refused.text).error.code]).toEqual([429, "rate_limit_exceeded"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(calls()).toHaveLength(sent);
  },

  async "budgets: a request must fit as a whole, and its charge remains"(service) {
    const { send, calls, gateway } = await open(service, { options: asCaller({ budget: "0.12" }) });
    const request = { model: service.model, prompt: PROMPT };
    expect((await send(GENERATIONS, { ...request, n: 2 })).status).toBe(200);
    expect(await gateway.usage?.balance("tester")).toEqual({ settled: "0.1", held: "0" });
    const sent = calls().length;
    const refused = await send(GENERATIONS, request);
    expect([refused.status, JSON.parse(refused.text).error.code]).toEqual([403, "insufficient_quota"]);
    expect(calls()).toHaveLength(sent);
    expect(await gateway.usage?.balance("tester")).toEqual({ settled: "0.1", held: "0" });
  },

  async "records: each request has one, with the facts of its attempt"(service) {
    const { send, records } = await open(service);
    const response = await send(GENERATIONS, { model: service.model, prompt: "a red fox" });
    expect(response.status).toBe(200);
    expect(records).toEqual([
      expect.objectContaining({
        id: response.headers.get("x-request-id"),
        state: "settled",
        caller: "tester",
        group: "default",
        model: service.model,
        upstreamModel: service.model,
        channel: "channel-0",
        operation: "generate",
        status: 200,
        images: 1,
        charge: "0.05",
        usage: expect.objectContaining({ generated_images: 1 }),
        derivation: expect.anything(),
        durationMs: expect.any(Number),
        attempts: [expect.objectContaining({ channel: "channel-0" })],
      }),
    ]);
  },

  async "records: a failure of the provider has one that costs nothing"(service) {
    const { send, records } = await open(service);
    providers().emulator.faults.add({ provider: service.provider, ...service.errors.server });
    const { status } = await send(GENERATIONS, { model: service.model, prompt: "a red fox" });
    expect(records).toMatchObject([{ state: "settled", status, images: 0, charge: "0" }]);
  },

  async "records: an image without a report of the provider is charged"(service) {
    const { send, records } = await open(service);
    providers().emulator.faults.add({ provider: service.provider, omitUsage: true });
    const { status } = await send(GENERATIONS, { model: service.model, prompt: "a red fox" });
    expect(status).toBe(200);
    expect(records).toMatchObject([{ images: 1, charge: "0.05" }]);
  },

  async "records: a client that disconnects is charged for the image that was made"(service) {
    const [arrived, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { url, records, gateway } = await open(service, {
      options: {
        // The provider gets its first call when the client has left.
        async fetch(link, init) {
          arrived.resolve();
          await left.promise;
          return fetch(link, init);
        },
      },
    });
    const client = new AbortController();
    const request = fetch(url + GENERATIONS, {
      method: "POST",
      headers: { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ model: service.model, prompt: "a red fox" }),
      signal: client.signal,
    });
    const ended = request.catch((error: unknown) => error);
    await arrived.promise;
    client.abort();
    expect(await ended).toMatchObject({ name: "AbortError" });
    left.resolve();
    await vi.waitFor(() => expect(records).toMatchObject([{ images: 1, charge: "0.05" }]));
    expect(await gateway.usage?.balance("tester")).toEqual({ settled: "0.05", held: "0" });
  },

  async "GET /v1/models: the capabilities are what requests can ask for"(service) {
    const { send, calls } = await open(service);
    const { status, text } = await send(`/v1/models/${encodeURIComponent(service.model)}`);
    expect(status).toBe(200);
    const { owned_by: owner, capabilities } = JSON.parse(text);
    expect(owner).toBe(service.family.name);
    const request = { model: service.model, prompt: "a red fox" };

    const edit = await send("/v1/images/edits", { ...request, images: [{ image_url: IMAGE }] });
    expect(capabilities.operations).toEqual(edit.status === 200 ? ["generate", "edit"] : ["generate"]);
    const streamed = await send(GENERATIONS, { ...request, stream: true });
    expect(capabilities.stream).toBe(streamed.status === 200);
    if (capabilities.max_images !== null) {
      const sent = calls().length;
      const above = await send(GENERATIONS, { ...request, n: capabilities.max_images + 1 });
      expect([above.status, JSON.parse(above.text).error.param]).toEqual([400, "n"]);
      expect(calls()).toHaveLength(sent);
    }
  },

  async "GET /v1/models: every model streams with the stream format openai"(service) {
    const { send } = await open(service, { options: { streamFormat: "openai" } });
    const { text } = await send(`/v1/models/${encodeURIComponent(service.model)}`);
    expect(JSON.parse(text).capabilities.stream).toBe(true);
  },
};

describe.each(SERVICES)("$name", (service) => {
  it.each(Object.entries(FEATURES))("%s", async (_name, check) => {
    expect.hasAssertions();
    await check(service);
  });
});
