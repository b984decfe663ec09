import { describe, expect, it } from "vitest";
import type { ItemizedDerivation } from "./billing/charge.js";
import type { ModelDetails } from "./billing/model-details.js";
import type { SettledRecord } from "./billing/records.js";
import { gemini } from "./families/gemini/gemini.js";
import { openai } from "./families/openai/openai.js";
import { PNG_URL } from "./testing/form-bytes.js";
import { LINK_SECRET, MemoryResults } from "./testing/memory-results.js";
import { ASYNC, openTaskGateway, type TaskGateway } from "./testing/task-gateway.js";
import { createPost, type Provider } from "./testing/test-gateway.js";

const EDITS = "http://gateway.test/v1/images/edits";
const BODY = { model: "gpt-image-2", prompt: "x", size: "1024x1024", quality: "low" };
const EDIT = { ...BODY, images: [{ image_url: PNG_URL }, { image_url: PNG_URL }] };

/** Input of unknown kind has a price that no other token has. */
const BY_KIND: ModelDetails = {
  pricing_mode: "per-token",
  output_token_price: "30",
  input_token_price: "1000",
  input_text_token_price: "5",
};
const BY_TOTAL: ModelDetails = {
  pricing_mode: "per-token",
  output_token_price: "30",
  input_token_price: "1000",
};

/** An input of 10, and far more output than the request can make. */
const USAGE = {
  input_tokens: 10,
  output_tokens: 100_000,
  total_tokens: 100_010,
  input_tokens_details: { text_tokens: 10 },
};
const CHUNK = {
  candidates: [{ content: { parts: [{ inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } }] } }],
  usageMetadata: {
    promptTokenCount: 10,
    promptTokensDetails: [{ modality: "TEXT", tokenCount: 10 }],
    candidatesTokenCount: 100_000,
    candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 100_000 }],
    totalTokenCount: 100_010,
  },
};

const IMAGE = { b64_json: "iVBORw0KGgo=" };
const COMPLETED = { type: "image_generation.completed", ...IMAGE, usage: USAGE };

const provider: Provider = ({ url, text }) => {
  if (url.includes("generateContent")) return Response.json(CHUNK);
  if (!text.includes('"stream":true')) return Response.json({ created: 1, data: [IMAGE], usage: USAGE });
  return new Response(`event: ${COMPLETED.type}\ndata: ${JSON.stringify(COMPLETED)}\n\n`, {
    headers: { "content-type": "text/event-stream" },
  });
};

const open = (details: ModelDetails): TaskGateway =>
  openTaskGateway(provider, {
    families: [openai, gemini],
    models: { "gpt-image-2": { family: "openai" }, "gemini-2.5-flash-image": { family: "gemini" } },
    channels: [
      { id: "openai", family: "openai", apiKey: "openai-canary-1" },
      { id: "gemini", family: "gemini", apiKey: "gemini-canary-1" },
    ],
    results: { store: new MemoryResults(), urls: "gateway", secrets: [LINK_SECRET] },
    billing: { model_details: { "*": details } },
  });

type Send = (test: TaskGateway) => Promise<unknown>;

const sendEdit: Send = async ({ gateway }) =>
  await (await gateway.fetch(new Request(EDITS, createPost(EDIT)))).text();

/** Returns the only record. The operator was told that the report was cut. */
function onlyRecord({ records, logs }: TaskGateway): SettledRecord {
  expect(logs).toMatchObject([{ level: "error", message: expect.stringContaining("the report was cut") }]);
  const [record] = records;
  if (record === undefined) throw new Error("There is no record.");
  return record;
}

/** The lines of a charge, as `count what`. */
function linesOf({ derivation }: SettledRecord): readonly string[] {
  return (derivation as ItemizedDerivation).lines.map((line) =>
    line.what === "rounding" ? line.what : `${line.count} ${line.what}`,
  );
}

describe("output tokens above the maximum of the request are cut, and are not charged as input", () => {
  const ways: readonly (readonly [string, Send, number, number])[] = [
    ["of an edit with two references", sendEdit, 216, 10],
    ["of a JSON response", ({ post }) => post(BODY), 216, 10],
    ["of a stream", ({ post }) => post({ ...BODY, stream: true }), 216, 10],
    ["of a task", async ({ post, ended }) => await ended(await post(BODY, ASYNC)), 216, 10],
    [
      "of several upstream calls",
      ({ post }) => post({ model: "gemini-2.5-flash-image", prompt: "a fox", n: 2 }),
      2 * 1290,
      2 * 10,
    ],
  ];

  it.each(ways)("%s, with prices by the kind of token", async (_way, send, output, input) => {
    const test = open(BY_KIND);
    await send(test);
    await test.gateway.close({ deadlineSeconds: 1 });
    const record = onlyRecord(test);
    expect(linesOf(record)).toEqual([`${output} output_image_tokens`, `${input} input_text_tokens`]);
    expect(record.charge).toBe(String((output * 30 + input * 5) / 1_000_000));
    expect(record.usage).toMatchObject({ output_tokens: output, total_tokens: output + input });
    expect(record.reportedUsage?.output_tokens).toBeGreaterThanOrEqual(100_000);
  });

  it.each(ways)("%s, with one price for all input", async (_way, send, output, input) => {
    const test = open(BY_TOTAL);
    await send(test);
    await test.gateway.close({ deadlineSeconds: 1 });
    expect(onlyRecord(test).derivation).toMatchObject({ output_tokens: output, other_tokens: input });
  });
});
