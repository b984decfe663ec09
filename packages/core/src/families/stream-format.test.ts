import { describe, expect, it } from "vitest";
import type { Operation } from "../types.js";
import type { Capabilities } from "./capabilities.js";
import type { Family, NormalizeContext } from "./family.js";
import { qwenImage } from "./qwen-image/qwen-image.js";
import { seedream } from "./seedream/seedream.js";

const IMAGE = "https://example.com/a.png";

interface Sent {
  readonly family: Family;
  readonly model: string;
  readonly fields: object;
  readonly operation?: Operation;
  readonly capabilities?: Capabilities;
}

/** A request with `stream: true`, as the family makes it for a model of its own table. */
function normalize(
  { family, model, fields, operation = "generate", capabilities }: Sent,
  format: NormalizeContext["streamFormat"],
) {
  const context: NormalizeContext = {
    operation,
    model,
    capabilities: capabilities ?? family.findCapabilities?.(model),
    defaultResponseFormat: undefined,
    streamFormat: format,
    maxUpstreamCalls: 10,
  };
  return family.normalize({ prompt: "a fox", stream: true, ...fields }, context);
}

const STREAMING_ONE: Capabilities = { imagesPerCall: 1, streaming: true };

describe("stream: true in OpenAI's format", () => {
  it.each<Sent & { what: string; sent: boolean | undefined; calls?: number }>([
    { what: "a model that streams", family: seedream, model: "seedream-4-5", fields: {}, sent: true },
    { what: "a model without a row", family: seedream, model: "ep-1", fields: {}, sent: true },
    {
      what: "several images of one call",
      family: seedream,
      model: "seedream-4-5",
      fields: { n: 4 },
      sent: true,
    },
    {
      what: "an edit",
      family: seedream,
      model: "seedream-4-5",
      operation: "edit",
      fields: { image: [IMAGE] },
      sent: true,
    },
    {
      what: "a model that does not stream",
      family: seedream,
      model: "seedream-5-0-pro",
      fields: {},
      sent: undefined,
    },
    {
      what: "several calls",
      family: seedream,
      model: "seedream-5-0-pro",
      fields: { n: 3 },
      sent: undefined,
      calls: 3,
    },
    {
      what: "several calls of a model that streams",
      family: seedream,
      model: "x",
      capabilities: STREAMING_ONE,
      fields: { n: 3 },
      sent: undefined,
      calls: 3,
    },
    {
      what: "an edit with a model that does not stream",
      family: seedream,
      model: "seedream-5-5",
      operation: "edit",
      fields: { image: [IMAGE] },
      sent: undefined,
    },
    { what: "family B", family: qwenImage, model: "qwen-image-2.0", fields: {}, sent: undefined },
    {
      what: "several calls of family B",
      family: qwenImage,
      model: "qwen-image-max",
      fields: { n: 3 },
      sent: undefined,
      calls: 3,
    },
    {
      what: "family B's standard structure",
      family: qwenImage,
      model: "qwen-image-2.0",
      fields: { input: { messages: [{ role: "user", content: [{ text: "a fox" }] }] } },
      sent: undefined,
    },
  ])("is a stream for $what", ({ sent, calls, ...request }) => {
    const normalized = normalize(request, "openai");
    expect(normalized.stream).toBe(true);
    expect(normalized.upstreamCalls).toBe(calls);
    expect(normalized.upstreamFields["stream"]).toBe(sent);
    expect(JSON.stringify(normalized.upstreamFields).includes("stream")).toBe(sent === true);
  });

  it.each([seedream, qwenImage])("partial_images is ignored by $name", (family) => {
    const request = normalize({ family, model: "x", fields: { partial_images: 2 } }, "openai");
    expect(request.ignored).toEqual(["partial_images"]);
    expect(JSON.stringify(request.upstreamFields)).not.toContain("partial_images");
  });
});

describe("stream: true in the native format is a 400", () => {
  const requests: (Sent & { what: string })[] = [
    { what: "a model that does not stream", family: seedream, model: "seedream-5-0-pro", fields: {} },
    {
      what: "an edit",
      family: seedream,
      model: "seedream-4-5",
      operation: "edit",
      fields: { image: [IMAGE] },
    },
    {
      what: "several calls",
      family: seedream,
      model: "x",
      capabilities: STREAMING_ONE,
      fields: { n: 3 },
    },
    { what: "family B", family: qwenImage, model: "qwen-image-2.0", fields: {} },
  ];
  it.each(
    requests.flatMap((request) => [undefined, "native" as const].map((format) => ({ ...request, format }))),
  )("for $what (format: $format)", ({ format, ...request }) => {
    expect(() => normalize(request, format)).toThrow(
      expect.objectContaining({ status: 400, param: "stream" }),
    );
  });
});
