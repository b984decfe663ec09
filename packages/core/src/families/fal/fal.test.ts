import { describe, expect, it } from "vitest";
import { createFamilyChecks } from "../../family-suite/create-family-checks.js";
import { toCall } from "../fields/testing/to-call.js";
import { createFal, fal, toRatio } from "./fal.js";

const LINK = "https://93.184.216.34/1.jpeg";
const base = "https://queue.fal.run/fal-ai/flux-2/requests/764cabcf";
const SUBMITTED = {
  request_id: "764cabcf",
  status: "IN_QUEUE",
  queue_position: 0,
  response_url: base,
  status_url: `${base}/status`,
  cancel_url: `${base}/cancel`,
};
const waiting = { body: { status: "IN_QUEUE", request_id: "764cabcf", queue_position: 0 } };
const completed = { body: { status: "COMPLETED", request_id: "764cabcf", logs: [] } };

/** Responses as in fal's reference (fal.ai/docs, November 2026). */
const checks = createFamilyChecks({
  family: fal,
  model: "fal-ai/flux-2",
  exchanges: [
    {
      name: "two images",
      request: { fields: { prompt: "a fox", n: 2, size: "1024x576" } },
      response: { body: SUBMITTED },
      job: {
        polls: [waiting, { status: 202, body: { status: "IN_PROGRESS", logs: [] } }, completed],
        result: {
          body: {
            images: [
              { url: LINK, width: 1024, height: 576, content_type: "image/jpeg" },
              { url: LINK, width: 1024, height: 576, content_type: "image/jpeg" },
            ],
            timings: { inference: 2.1 },
            seed: 5,
            has_nsfw_concepts: [false, false],
          },
        },
      },
      expects: { images: 2, usage: { generated_images: 2 } },
    },
    {
      name: "an edit with one image in the result",
      request: { operation: "edit", fields: { prompt: "a fox" } },
      response: { body: SUBMITTED },
      job: { polls: [waiting, completed], result: { body: { image: { url: LINK } } } },
      expects: { images: 1, usage: { generated_images: 1 } },
    },
    {
      name: "a refused result",
      request: { fields: { prompt: "a fox" } },
      response: { body: SUBMITTED },
      job: {
        polls: [waiting, completed],
        result: {
          status: 422,
          body: {
            detail: [{ loc: ["body", "prompt"], msg: "Flagged.", type: "content_policy_violation" }],
          },
        },
      },
      expects: { images: 0, status: 422, code: "content_policy_violation" },
    },
    {
      name: "a request that failed",
      request: { fields: { prompt: "a fox" } },
      response: { body: SUBMITTED },
      job: {
        polls: [
          waiting,
          { body: { status: "COMPLETED", error: "Runner disconnected", error_type: "runner_disconnected" } },
        ],
      },
      expects: { images: 0, status: 502, code: "runner_disconnected" },
    },
  ],
  failures: [
    { status: 401, kind: "credential", body: { detail: "Authentication is required" } },
    { status: 403, kind: "credential", body: { detail: "Access denied" } },
    { status: 403, kind: "quota", body: { detail: "User is locked. Reason: Exhausted balance." } },
    { status: 404, kind: "model", body: { detail: "Application not found" } },
    { status: 422, kind: "content", body: { detail: [{ loc: ["body", "n"], msg: "No.", type: "int" }] } },
    { status: 429, kind: "rate", body: { detail: "Too many", error_type: "concurrent_requests_limit" } },
    { status: 500, kind: "server", body: "" },
    { status: 503, kind: "overload", body: { detail: "Busy" } },
  ],
});

it.each(checks)("$name", async ({ run }) => {
  await expect(run()).resolves.toBeUndefined();
});

const IMAGE = "https://example.com/a.png";

/** The path, and what is sent beside the prompt. */
function send(model: string, fields: object, family = fal): readonly unknown[] {
  const { path, json } = toCall(family, model, fields);
  const { prompt, ...sent } = json;
  expect(prompt).toBe("p");
  return [path, sent];
}

describe("an endpoint gets what it takes", () => {
  it.each<readonly [string, object, string, object]>([
    ["fal-ai/flux-2-pro", { n: 2, size: "1024x768" }, "", { image_size: { width: 1024, height: 768 } }],
    ["fal-ai/flux-2-pro", { image: [IMAGE, IMAGE] }, "/edit", { image_urls: [IMAGE, IMAGE] }],
    ["fal-ai/flux/dev", { n: 3, quality: "high", user: "u" }, "", { num_images: 3 }],
    [
      "fal-ai/flux-pro/kontext",
      { image: IMAGE, size: "1024x1536" },
      "",
      { image_url: IMAGE, aspect_ratio: "2:3" },
    ],
    ["fal-ai/nano-banana-pro", { size: "2048x2048" }, "", { aspect_ratio: "1:1", resolution: "2K" }],
    [
      "fal-ai/unknown",
      { image: IMAGE, mask: IMAGE, quality: "low" },
      "",
      {
        image_urls: [IMAGE],
        mask_url: IMAGE,
        quality: "low",
      },
    ],
    ["fal-ai/unknown", { image_size: "landscape_16_9" }, "", { image_size: "landscape_16_9" }],
  ])("%s, %j", (model, fields, suffix, expected) => {
    expect(send(model, fields)).toEqual([`/${model}${suffix}`, expected]);
  });

  it.each<readonly [string, object, string]>([
    ["fal-ai/flux-2-pro", { image: IMAGE, mask: IMAGE }, "mask"],
    ["fal-ai/flux/dev", { image: IMAGE }, "image"],
    ["fal-ai/flux/dev", { n: 5 }, "n"],
    ["fal-ai/flux-2", { stream: true }, "stream"],
  ])("%s does not take %j", (model, fields, param) => {
    expect(() => send(model, fields)).toThrow(expect.objectContaining({ param }));
  });

  it("and an operator can say what it takes", () => {
    const family = createFal({ "me/model": { images: "photo", size: toRatio(["1:1", "2:1"]) } });
    expect(send("me/model", { image: IMAGE, size: "1024x512" }, family)).toEqual([
      "/me/model",
      { photo: IMAGE, aspect_ratio: "2:1" },
    ]);
  });

  it("without sync_mode, which is named", () => {
    const context = {
      operation: "generate",
      model: "m",
      capabilities: undefined,
      defaultResponseFormat: undefined,
    } as const;
    const { ignored, upstreamFields } = fal.normalize({ prompt: "p", sync_mode: true }, context);
    expect([ignored, upstreamFields]).toEqual([["sync_mode"], { prompt: "p" }]);
  });
});
