import { describe, expect, it } from "vitest";
import { createFamilyChecks } from "../../family-suite/create-family-checks.js";
import type { ImageRequest } from "../../types.js";
import { toCall } from "../fields/testing/to-call.js";
import { bfl } from "./bfl.js";

/** Responses as in BFL's reference (docs.bfl.ai, November 2026). */
const checks = createFamilyChecks({
  family: bfl,
  model: "flux-2-pro",
  exchanges: [
    {
      name: "an image",
      request: { fields: { prompt: "a fox", size: "1024x1024" } },
      response: {
        body: {
          id: "c2d3",
          polling_url: "https://api.eu.bfl.ai/v1/get_result?id=c2d3",
          cost: 3,
          input_mp: 0,
          output_mp: 1,
        },
      },
      job: {
        polls: [
          { body: { id: "c2d3", status: "Pending", result: null, progress: null, details: null } },
          {
            body: {
              id: "c2d3",
              status: "Ready",
              result: { sample: "https://93.184.216.34/1.jpeg", seed: 7, prompt: "a fox" },
            },
          },
        ],
      },
      expects: { images: 1, usage: { generated_images: 1, cost_usd: "0.03" } },
    },
    {
      name: "an edit with a final cost",
      request: { operation: "edit", fields: { prompt: "a fox" } },
      response: { body: { id: "c2d4", polling_url: "https://api.bfl.ai/v1/get_result?id=c2d4", cost: 4.5 } },
      job: {
        polls: [{ body: { state: "Ready", cost: 4.35, result: { sample: "https://93.184.216.34/1.jpeg" } } }],
      },
      expects: { images: 1, usage: { generated_images: 1, cost_usd: "0.0435" } },
    },
    {
      name: "a moderated request",
      request: { fields: { prompt: "a fox" } },
      response: { body: { id: "c2d5", polling_url: "https://api.bfl.ai/v1/get_result?id=c2d5" } },
      job: {
        polls: [
          { body: { status: "Pending" } },
          { body: { status: "Request Moderated", details: { "Moderation Reasons": ["x"] } } },
        ],
      },
      expects: { images: 0, status: 400, code: "Request Moderated" },
    },
  ],
  failures: [
    { status: 402, kind: "quota", body: { detail: "Insufficient credits" } },
    { status: 403, kind: "credential", body: { detail: "Not authenticated" } },
    { status: 404, kind: "model", body: { detail: "Not Found" } },
    {
      status: 422,
      kind: "content",
      body: { detail: [{ loc: ["body", "width"], msg: "Too large", type: "value_error" }] },
    },
    { status: 429, kind: "rate", body: { detail: "Too many active tasks" } },
    { status: 500, kind: "server", body: "" },
    { status: 503, kind: "overload", body: "" },
  ],
});

it.each(checks)("$name", async ({ run }) => {
  await expect(run()).resolves.toBeUndefined();
});

const PNG = "data:image/png;base64,iVBORw0KGgo=";
const LINK = "https://example.com/a.png";

/** The JSON that is sent for fields of a client. */
function send(model: string, fields: object): unknown {
  const { path, json } = toCall(bfl, model, fields);
  expect(path).toBe(`/${model}`);
  return json;
}

describe("a size and images are sent as the model takes them", () => {
  it.each<readonly [string, object, object]>([
    ["flux-2-pro", { size: "1024x768", seed: 3 }, { width: 1024, height: 768, seed: 3 }],
    ["flux-2-pro", { size: "auto", n: 2, quality: "high", style: "vivid", user: "u" }, {}],
    ["flux-unknown", { size: "1000x1000", quality: "high" }, { width: 1000, height: 1000, quality: "high" }],
    ["flux-3-image", { size: "1920x1088" }, { aspect_ratio: "16:9", resolution: "1.5k" }],
    ["flux-3-image", { size: "4096x4096" }, { aspect_ratio: "1:1", resolution: "4k" }],
    [
      "flux-3-image",
      { aspect_ratio: "auto", resolution: "768" },
      { aspect_ratio: "auto", resolution: "768" },
    ],
    ["flux-3-image", { image: [LINK, LINK] }, { images: [LINK, LINK] }],
    ["flux-kontext-pro", { size: "1024x1536", image: LINK }, { aspect_ratio: "2:3", input_image: LINK }],
    ["flux-2-max", { image: [LINK, LINK] }, { input_image: LINK, input_image_2: LINK }],
    ["flux-pro-1.0-fill", { image: LINK, mask: LINK }, { image: LINK, mask: LINK }],
  ])("%s, %j", (model, fields, expected) => {
    expect(send(model, fields)).toEqual({ prompt: "p", ...expected });
  });

  it.each<readonly [string, object, string]>([
    ["flux-2-pro", { size: "1000x1000" }, "size"],
    ["flux-2-pro", { image: LINK, mask: PNG }, "mask"],
    ["flux-2-pro", { stream: true }, "stream"],
    ["flux-2-pro", { image: Array(9).fill(LINK) }, "image"],
    ["flux-2-pro", { output_format: "webp" }, "output_format"],
    ["flux-pro-1.0-fill", {}, "image"],
  ])("%s does not take %j", (model, fields, param) => {
    expect(() => send(model, fields)).toThrow(expect.objectContaining({ param }));
  });
});

it.each<readonly [object, object]>([
  [
    { id: "a", polling_url: "https://api.eu.bfl.ai/v1/get_result?id=a" },
    { path: "https://api.eu.bfl.ai/v1/get_result?id=a" },
  ],
  [{ id: "a" }, { path: "/get_result", query: { id: "a" } }],
])("the job of %j is polled at %j", (response, expected) => {
  const submission = bfl.jobs?.readSubmission({ ...response }, {} as ImageRequest);
  const job = submission !== undefined && "job" in submission ? submission.job : undefined;
  expect(job && bfl.jobs?.poll(job)).toEqual({ method: "GET", ...expected });
});

it("a state that is not known is not the end of a job", () => {
  expect(bfl.jobs?.readPoll({ status: "Queued" }, { id: "1" })).toEqual({ state: "pending" });
});

it.each([
  [4.35, "0.0435"],
  [0.000_04, "0.0000004"],
])("%f cents are exactly %s dollars", (cost, dollars) => {
  const submission = bfl.jobs?.readSubmission({ id: "a", cost }, {} as ImageRequest);
  expect(submission).toMatchObject({ job: { usage: { cost_usd: dollars } } });
});
