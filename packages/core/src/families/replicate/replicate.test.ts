import { describe, expect, it } from "vitest";
import { createFamilyChecks } from "../../family-suite/create-family-checks.js";
import { toCall } from "../fields/testing/to-call.js";
import { createReplicate, replicate } from "./replicate.js";

const LINK = "https://93.184.216.34/out.webp";
const base = "https://api.replicate.com/v1/predictions/gm3qorzdhgbfurvjtvhg6dckhu";
const prediction = (status: string, more: object = {}) => ({
  body: {
    id: "gm3qorzdhgbfurvjtvhg6dckhu",
    model: "black-forest-labs/flux-2-pro",
    status,
    output: null,
    error: null,
    urls: { get: base, cancel: `${base}/cancel` },
    ...more,
  },
});

/** Responses as in Replicate's reference (replicate.com/docs, November 2026). */
const checks = createFamilyChecks({
  family: replicate,
  model: "black-forest-labs/flux-2-pro",
  exchanges: [
    {
      name: "a link",
      request: { fields: { prompt: "a fox", size: "1024x1024" } },
      response: { status: 201, ...prediction("starting") },
      job: { polls: [prediction("processing"), prediction("succeeded", { output: LINK })] },
      expects: { images: 1, usage: { generated_images: 1 } },
    },
    {
      name: "an edit with a list of links",
      request: { operation: "edit", fields: { prompt: "a fox" } },
      response: { status: 201, ...prediction("starting") },
      job: { polls: [prediction("starting"), prediction("succeeded", { output: [LINK] })] },
      expects: { images: 1, usage: { generated_images: 1 } },
    },
    {
      name: "a prediction that succeeded at once",
      request: { fields: { prompt: "a fox" } },
      response: { status: 201, ...prediction("succeeded", { output: LINK }) },
      expects: { images: 1, usage: { generated_images: 1 } },
    },
    {
      name: "refused content",
      request: { fields: { prompt: "a fox" } },
      response: { status: 201, ...prediction("starting") },
      job: {
        polls: [
          prediction("failed", {
            error:
              "The input or output was flagged as sensitive. Please try again with different inputs. (E005)",
          }),
        ],
      },
      expects: { images: 0, status: 400, code: "E005" },
    },
    {
      name: "a prediction that was not started in time",
      request: { fields: { prompt: "a fox" } },
      response: { status: 201, ...prediction("starting") },
      job: { polls: [prediction("starting"), prediction("aborted")] },
      expects: { images: 0, status: 502, code: "aborted" },
    },
  ],
  failures: [
    { status: 401, kind: "credential", body: { title: "Unauthenticated", detail: "Token.", status: 401 } },
    { status: 402, kind: "quota", body: { title: "Insufficient credit", detail: "Buy.", status: 402 } },
    { status: 404, kind: "model", body: { detail: "Not found.", status: 404 } },
    {
      status: 422,
      kind: "content",
      body: {
        title: "Input validation failed",
        detail: "- input: no",
        invalid_fields: [{ field: "input.seed" }],
      },
    },
    { status: 429, kind: "rate", body: { detail: "Request was throttled.", status: 429 } },
    { status: 500, kind: "server", body: "" },
    { status: 503, kind: "overload", body: "" },
  ],
});

it.each(checks)("$name", async ({ run }) => {
  await expect(run()).resolves.toBeUndefined();
});

const IMAGE = "https://example.com/a.png";

/** The path, and what is sent. */
function send(model: string, fields: object, family = replicate): readonly unknown[] {
  const { path, json } = toCall(family, model, fields);
  return [path, json];
}

describe("a model gets what it takes", () => {
  it.each<readonly [string, object, object]>([
    [
      "black-forest-labs/flux-2-pro",
      { size: "1024x768", n: 2 },
      { aspect_ratio: "custom", width: 1024, height: 768 },
    ],
    ["black-forest-labs/flux-2-flex", { image: [IMAGE, IMAGE] }, { input_images: [IMAGE, IMAGE] }],
    ["black-forest-labs/flux-dev", { n: 3, size: "1024x1536" }, { num_outputs: 3, aspect_ratio: "2:3" }],
    [
      "bytedance/seedream-4.5",
      { size: "4096x4096", image: IMAGE },
      { aspect_ratio: "1:1", size: "4K", image_input: [IMAGE] },
    ],
    ["someone/model", { image: IMAGE, mask: IMAGE, style: "x" }, { image: IMAGE, mask: IMAGE, style: "x" }],
  ])("%s, %j", (model, fields, expected) => {
    expect(send(model, fields)).toEqual([
      `/models/${model}/predictions`,
      { input: { prompt: "p", ...expected } },
    ]);
  });

  it("by its version, with the row of the model", () => {
    expect(send("black-forest-labs/flux-2-pro:00b07c32", { image: IMAGE })).toEqual([
      "/predictions",
      { version: "00b07c32", input: { prompt: "p", input_images: [IMAGE] } },
    ]);
  });

  it("as an operator says", () => {
    const family = createReplicate({
      "someone/model": { images: "photos[]" },
      "google/nano-banana-2": { images: "photo" },
    });
    expect(send("someone/model", { image: IMAGE, size: "512x512" }, family)[1]).toEqual({
      input: { prompt: "p", photos: [IMAGE], aspect_ratio: "1:1" },
    });
    expect(send("google/nano-banana-2", { image: IMAGE, size: "2048x2048" }, family)[1]).toEqual({
      input: { prompt: "p", photo: IMAGE, aspect_ratio: "1:1", resolution: "2K" },
    });
  });

  it.each<readonly [string, object, string]>([
    ["black-forest-labs/flux-2-pro", { image: IMAGE, mask: IMAGE }, "mask"],
    ["black-forest-labs/flux-2-pro", { size: "4096x4096" }, "size"],
    ["someone/model", { image: [IMAGE, IMAGE] }, "image"],
  ])("%s does not take %j", (model, fields, param) => {
    expect(() => send(model, fields)).toThrow(expect.objectContaining({ param }));
  });
});
