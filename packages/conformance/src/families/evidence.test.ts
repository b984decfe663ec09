import { hash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GatewayOptionsError } from "@calotype/core";
import type { ModelDetails } from "@calotype/core/billing";
import type { RecordedRequest } from "@calotype/emulator";
import { createFileStore } from "@calotype/node";
import { APIError, toFile } from "openai";
import type { ImagesResponse } from "openai/resources/images";
import sharp from "sharp";
import { describe, expect, it, onTestFinished } from "vitest";
import { useProviders } from "../support/use-providers.ts";
import { writeTable } from "../support/written-table.ts";
import { openService } from "./open-service.ts";
import { type FamilyService, SERVICES } from "./services.ts";

const providers = useProviders({ images: "tiny" });

const PROMPT = "2 images of a red fox";
const GENERATIONS = "/v1/images/generations";

const paint = async (background: string): Promise<Buffer<ArrayBuffer>> =>
  Buffer.from(
    await sharp({ create: { width: 512, height: 512, channels: 4, background } })
      .png()
      .toBuffer(),
  );
const RED = await paint("#cc3333");
const BLUE = await paint("#3333cc");
const MASK = await paint("#00000000");
const asFile = (bytes: Buffer<ArrayBuffer>, name: string) => toFile(bytes, name, { type: "image/png" });

/** A cell: what a client of this service gets. */
type Observe = (service: FamilyService) => Promise<string>;

/** What the client gets in place of images. */
const refusal = (status: number, name: string): string => `no: ${status} \`${name}\``;

/** The result of the official client, or its error as a cell. */
async function ask(request: Promise<ImagesResponse>): Promise<ImagesResponse | string> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof APIError) return refusal(error.status, error.param || String(error.code));
    throw error;
  }
}

/** The formats of the images, such as `base64`. */
function formatsOf({ data = [] }: ImagesResponse): string {
  const formats = data.map(({ b64_json, url }) => (b64_json ? "base64" : url ? "link" : "nothing"));
  return [...new Set(formats)].join(", ");
}

async function generate(service: FamilyService): Promise<string> {
  const { client } = await openService(providers(), service);
  const response = await ask(client.images.generate({ model: service.model, prompt: "a red fox" }));
  if (typeof response === "string") return response;
  expect(response.data).toHaveLength(1);
  return formatsOf(response);
}

async function generateTwo(service: FamilyService): Promise<string> {
  const { client, calls, records } = await openService(providers(), service);
  const response = await ask(client.images.generate({ model: service.model, prompt: PROMPT, n: 2 }));
  if (typeof response === "string") return response;
  expect(response.data).toHaveLength(2);
  expect(records).toMatchObject([{ images: 2, charge: "0.1" }]);
  return calls().length === 1 ? "one call" : `${calls().length} calls`;
}

const FILES = { red: RED, blue: BLUE, mask: MASK } as const;

/** The files in a call to the provider, in their order. */
function findFiles({ parts, bodyText }: RecordedRequest): readonly (string | undefined)[] {
  const files = Object.entries(FILES);
  if (parts !== undefined) {
    const sent = parts.filter(({ filename }) => filename !== undefined);
    return sent.map(({ sha256 }) => files.find(([, bytes]) => hash("sha256", bytes) === sha256)?.[0]);
  }
  return files
    .map(([name, bytes]) => ({ name, at: bodyText.indexOf(bytes.toString("base64")) }))
    .filter(({ at }) => at >= 0)
    .toSorted((one, other) => one.at - other.at)
    .map(({ name }) => name);
}

async function edit(
  service: FamilyService,
  names: readonly (keyof typeof FILES)[],
  model?: object,
): Promise<string> {
  const { client, calls } = await openService(providers(), service, { ...(model && { model }) });
  const images = names.filter((name) => name !== "mask");
  const files = await Promise.all(images.map((name) => asFile(FILES[name], `${name}.png`)));
  const [first] = files;
  const request = client.images.edit({
    model: service.model,
    prompt: "a red fox",
    image: files.length === 1 && first !== undefined ? first : files,
    ...(names.includes("mask") && { mask: await asFile(MASK, "mask.png") }),
  });
  const response = await ask(request);
  if (typeof response === "string") {
    expect(calls()).toEqual([]);
    return response;
  }
  expect(response.data).toHaveLength(1);
  const [call] = calls();
  expect(call && findFiles(call)).toEqual(names);
  return call?.parts === undefined ? "JSON" : "form";
}

/** A family may close the endpoint unless the operator opens it. */
async function editOne(service: FamilyService): Promise<string> {
  const cell = await edit(service, ["red"]);
  if (service.needsEdits !== true) return cell;
  const closed = await edit(service, ["red"], { edits: false });
  expect(closed).toMatch(/^no: 400/);
  return `${cell}, with \`edits: true\``;
}

/** The names of the events, without those that are the end. */
const namesOf = (text: string): readonly string[] =>
  [...text.matchAll(/^event: ?(\S+)\r?$/gm)].map(([, name = ""]) => name);

/** The events of the provider itself for a call that it got. */
async function readEvents({ url, headers, bodyText }: RecordedRequest): Promise<readonly string[]> {
  const { host: _host, "content-length": _length, connection: _connection, ...rest } = headers;
  const response = await fetch(url, { method: "POST", headers: rest, body: bodyText });
  return namesOf(await response.text());
}

async function streamNative(service: FamilyService): Promise<string> {
  const { send, calls } = await openService(providers(), service);
  const { model } = service;
  const { status, text } = await send(GENERATIONS, { model, prompt: "a red fox", stream: true });
  if (status !== 200) return refusal(status, JSON.parse(text).error.param);
  const [call] = calls();
  const events = namesOf(text);
  expect(events.at(-1)).toBe("image_generation.completed");
  return call !== undefined && String(await readEvents(call)) === String(events) ? "relayed" : "translated";
}

async function streamOpenai(service: FamilyService): Promise<string> {
  const { client, calls, records } = await openService(providers(), service, {
    options: { streamFormat: "openai" },
  });
  const fields = { model: service.model, prompt: PROMPT, n: 2, stream: true } as const;
  const images: string[] = [];
  const types: string[] = [];
  for await (const event of await client.images.generate(fields)) {
    const { type, ...image } = event as { readonly type: string; readonly url?: string; b64_json?: string };
    types.push(type);
    if (type === "image_generation.completed") images.push(image.b64_json ?? image.url ?? "");
  }
  expect(images).toHaveLength(2);
  expect(images).not.toContain("");
  expect(records).toMatchObject([{ images: 2, charge: "0.1" }]);
  const [call] = calls();
  const isStreamed = (call?.body as { readonly stream?: unknown } | undefined)?.stream === true;
  if (call === undefined || !isStreamed) return "made by the gateway";
  const isSame = String(await readEvents(call)) === String(types);
  return isSame ? "relayed" : "translated";
}

async function base64(service: FamilyService): Promise<string> {
  const { send, countDownloads } = await openService(providers(), service);
  const { model } = service;
  const { status, text } = await send(GENERATIONS, { model, prompt: "a fox", response_format: "b64_json" });
  expect(status).toBe(200);
  const [{ b64_json: content }] = JSON.parse(text).data;
  expect((await sharp(Buffer.from(content, "base64")).metadata()).width).toBeGreaterThan(0);
  return countDownloads() === 0 ? "the provider's" : "downloaded";
}

async function link(service: FamilyService): Promise<string> {
  const own = await requestLink(service, {});
  const directory = await mkdtemp(join(tmpdir(), "calotype-families-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const stored = await requestLink(service, { results: { store: createFileStore({ directory }) } });
  expect(stored).toBe("stored");
  return own.startsWith("no") ? "through a results store" : `${own}, or stored`;
}

async function requestLink(service: FamilyService, options: object): Promise<string> {
  const { send } = await openService(providers(), service, { options });
  const { model } = service;
  const { status, text } = await send(GENERATIONS, { model, prompt: "a fox", response_format: "url" });
  if (status !== 200) return refusal(status, JSON.parse(text).error.param);
  const [{ url }] = JSON.parse(text).data;
  const image = await fetch(url);
  expect(image.headers.get("content-type")).toMatch(/^image\//);
  return url.includes("/v1/images/files/") ? "stored" : "the provider's";
}

/** A price of one for each token, so that a charge is a count. */
const BY_TOKEN: ModelDetails = {
  pricing_mode: "per-token",
  input_token_price: "0",
  output_token_price: "1000000",
};

/** What may be priced. The charge for images is that of `n`. */
async function prices(service: FamilyService): Promise<string> {
  const byImage = await charge(service);
  expect(byImage.charge).toBe("0.05");
  const cost = byImage.usage?.cost_usd === undefined ? "" : "; a cost is recorded";
  try {
    const byToken = await charge(service, BY_TOKEN);
    const { output_tokens: all, output_image_tokens: image, output_text_tokens: other } = byToken.usage ?? {};
    expect(byToken.charge).toBe(String(all ?? (image ?? 0) + (other ?? 0)));
    expect(byToken.charge).not.toBe("0");
    return `image, token${cost}`;
  } catch (error) {
    if (!(error instanceof GatewayOptionsError)) throw error;
    expect(error.message).toContain("reports no tokens");
    return `image${cost}`;
  }
}

async function charge(service: FamilyService, price?: ModelDetails) {
  const { send, records } = await openService(providers(), service, { ...(price && { price }) });
  const { status } = await send(GENERATIONS, { model: service.model, prompt: "a red fox" });
  expect(status).toBe(200);
  const [record] = records;
  if (record?.state !== "settled") throw new Error("The request has no settled record.");
  return record;
}

const COLUMNS = {
  "one image": generate,
  "`n: 2`": generateTwo,
  edit: editOne,
  "several images": (service) => edit(service, ["red", "blue"]),
  mask: (service) => edit(service, ["red", "mask"]),
  "stream, `native`": streamNative,
  "stream, `openai`": streamOpenai,
  "`b64_json`": base64,
  "`url`": link,
  "priced by": prices,
} as const satisfies Record<string, Observe>;

const NO_MASK = refusal(400, "mask");
const NO_STREAM = refusal(400, "stream");
const NO_IMAGE = refusal(400, "image");
const OWN = "the provider's";
const OWN_LINK = "the provider's, or stored";

const IN_JSON = ["JSON", "JSON", NO_MASK];
const IF_ALLOWED = ["JSON, with `edits: true`", "JSON", NO_MASK];
const NO_EDITS = [NO_IMAGE, NO_IMAGE, NO_IMAGE];
const IN_FORMS = ["form", "form", "form"];
const MADE_STREAMS = [NO_STREAM, "made by the gateway"];
const RELAYED = ["relayed", "relayed"];
const TRANSLATED = ["relayed", "translated"];
/** The provider's own events have its cost. */
const ALWAYS_TRANSLATED = ["translated", "translated"];
const LINKS = [OWN, OWN_LINK];
const STORED_LINKS = [OWN, "through a results store"];
const COST = "image; a cost is recorded";
const TOKENS_AND_COST = "image, token; a cost is recorded";
const DOWNLOADED = ["downloaded", OWN_LINK];

/** The cells of each service, in the order of the columns. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  "Seedream 4.5": ["link", "one call", ...IN_JSON, ...TRANSLATED, ...LINKS, "image, token"],
  "Seedream 5.0 Pro": ["link", "2 calls", ...IN_JSON, ...MADE_STREAMS, ...LINKS, "image, token"],
  "Qwen-Image 2.0": ["link", "one call", ...IF_ALLOWED, ...MADE_STREAMS, ...DOWNLOADED, "image"],
  "Wan 2.7": ["link", "one call", ...IF_ALLOWED, ...MADE_STREAMS, ...DOWNLOADED, "image"],
  Gemini: ["base64", "2 calls", ...IN_JSON, ...MADE_STREAMS, ...STORED_LINKS, "image, token"],
  "`vertex`": ["base64", "2 calls", ...IN_JSON, ...MADE_STREAMS, ...STORED_LINKS, "image, token"],
  OpenAI: ["base64", "one call", ...IN_FORMS, ...RELAYED, ...STORED_LINKS, "image, token"],
  "`azure`": ["base64", "one call", ...IN_FORMS, ...RELAYED, ...STORED_LINKS, "image, token"],
  "`xai`": ["link", "one call", ...IN_JSON, ...MADE_STREAMS, ...LINKS, COST],
  "`openrouter`": ["base64", "one call", ...IN_JSON, ...ALWAYS_TRANSLATED, ...STORED_LINKS, TOKENS_AND_COST],
  "`together`": ["link", "one call", ...IN_JSON, ...MADE_STREAMS, ...LINKS, "image"],
  "`siliconflow`": ["link", "one call", ...IN_JSON, ...MADE_STREAMS, ...DOWNLOADED, "image"],
  "`zhipu`": ["link", "2 calls", ...NO_EDITS, ...MADE_STREAMS, ...DOWNLOADED, "image"],
  "`vllm`": ["base64", "one call", "form", "form", NO_MASK, ...MADE_STREAMS, ...STORED_LINKS, "image"],
  "`localai`": ["base64", "one call", "JSON", "JSON", "form", ...MADE_STREAMS, ...LINKS, "image"],
  "`relay`": ["link", "one call", ...IN_JSON, ...MADE_STREAMS, ...DOWNLOADED, COST],
  "`minimax`": ["link", "one call", ...IN_JSON, ...MADE_STREAMS, ...LINKS, "image, token"],
  "`recraft`": ["link", "one call", "JSON", NO_IMAGE, NO_MASK, ...MADE_STREAMS, ...LINKS, COST],
  "`mai`": ["base64", "2 calls", "form", "form", NO_MASK, ...MADE_STREAMS, ...STORED_LINKS, "image, token"],
  "`ideogram`": ["link", "one call", "form", "form", NO_MASK, ...MADE_STREAMS, ...DOWNLOADED, COST],
  "`tokenhub`": ["link", "2 calls", ...IN_JSON, ...MADE_STREAMS, ...DOWNLOADED, "image"],
  FLUX: ["link", "2 calls", ...IN_JSON, ...MADE_STREAMS, ...DOWNLOADED, COST],
  fal: ["link", "one call", ...IN_JSON, ...MADE_STREAMS, ...DOWNLOADED, "image"],
  Replicate: ["link", "2 calls", ...IN_JSON, ...MADE_STREAMS, ...DOWNLOADED, "image"],
};

/** What was seen, by service and column. */
const seen = new Map<string, string>();

describe.each(SERVICES)("$name", (service) => {
  it.each(Object.keys(COLUMNS) as (keyof typeof COLUMNS)[])("%s", async (column) => {
    const cell = await COLUMNS[column](service);
    seen.set(`${service.name}|${column}`, cell);
    expect(cell).toBe(EXPECTED[service.name]?.[Object.keys(COLUMNS).indexOf(column)]);
  });
});

it("docs/families/README.md has the table", async () => {
  const rows = SERVICES.map(({ name, page }) => [
    `[${name}](${page})`,
    ...Object.keys(COLUMNS).map((column) => seen.get(`${name}|${column}`) ?? "not seen"),
  ]);
  const { text, path } = writeTable("docs/families/README.md", ["", ...Object.keys(COLUMNS)], rows);
  await expect(text).toMatchFileSnapshot(path);
});
