import { describe, expect, it } from "vitest";
import type { Family } from "../families/family.js";
import type { JobProtocol } from "../families/job.js";
import { qwenImage } from "../families/qwen-image/qwen-image.js";
import { seedream } from "../families/seedream/seedream.js";
import { darkroom } from "../testing/darkroom.js";
import { painter } from "../testing/painter.js";
import { createFamilyChecks } from "./create-family-checks.js";
import type { FamilySubject } from "./subject.js";

const BASE64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk";

const arkEvent = (data: { readonly type: string; readonly [member: string]: unknown }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

/** Bodies as in Ark's reference (November 2026). */
const SEEDREAM: FamilySubject = {
  family: seedream,
  model: "seedream-4-5-251128",
  exchanges: [
    {
      name: "links",
      request: {
        fields: {
          prompt: "four foxes",
          sequential_image_generation: "auto",
          sequential_image_generation_options: { max_images: 4 },
        },
      },
      response: {
        body: {
          model: "doubao-seedream-4-5-251128",
          created: 1_763_683_200,
          data: [
            { url: "https://93.184.216.34/1.png", size: "2048x2048" },
            { error: { code: "OutputImageSensitiveContentDetected", message: "Refused." } },
            { url: "https://93.184.216.34/3.png", size: "2048x2048" },
          ],
          usage: { generated_images: 2, output_tokens: 32_768, total_tokens: 32_768 },
        },
      },
      expects: { images: 2, usage: { generated_images: 2, output_tokens: 32_768, total_tokens: 32_768 } },
    },
    {
      name: "base64",
      request: {
        operation: "edit",
        fields: { prompt: "a fox", response_format: "b64_json", size: "2048x2048" },
      },
      response: {
        body: {
          model: "doubao-seedream-4-5-251128",
          created: 1_763_683_200,
          data: [{ b64_json: BASE64.repeat(2_000), size: "2048x2048" }],
          usage: { generated_images: 1, output_tokens: 16_384, total_tokens: 16_384 },
        },
      },
      expects: { images: 1, usage: { generated_images: 1, output_tokens: 16_384, total_tokens: 16_384 } },
    },
    {
      name: "stream",
      request: {
        fields: {
          prompt: "two foxes",
          stream: true,
          sequential_image_generation: "auto",
          sequential_image_generation_options: { max_images: 2 },
        },
      },
      response: {
        body: `${[0, 1]
          .map((index) => ({
            type: "image_generation.partial_succeeded",
            model: "doubao-seedream-4-5-251128",
            created: 1_763_683_200,
            image_index: index,
            url: "https://93.184.216.34/1.png",
            size: "2048x2048",
          }))
          .map(arkEvent)
          .join("")}${arkEvent({
          type: "image_generation.completed",
          usage: { generated_images: 2, output_tokens: 32_768, total_tokens: 32_768 },
        })}data: [DONE]\n\n`,
      },
      expects: { images: 2, usage: { generated_images: 2, output_tokens: 32_768, total_tokens: 32_768 } },
    },
    {
      name: "a refusal with status 200",
      request: { fields: { prompt: "a fox" } },
      response: { body: { error: { code: "InputTextSensitiveContentDetected", message: "Refused." } } },
      expects: { images: 0, status: 502, code: "InputTextSensitiveContentDetected" },
    },
  ],
  failures: [
    { status: 400, kind: "content", body: { error: { code: "InvalidParameter", message: "size" } } },
    { status: 401, kind: "credential", body: { error: { code: "AuthenticationError", message: "No." } } },
    {
      status: 404,
      kind: "model",
      body: { error: { code: "InvalidEndpointOrModel.NotFound", message: "No." } },
    },
    { status: 429, kind: "quota", body: { error: { code: "QuotaExceeded", message: "No." } } },
    { status: 500, kind: "server", body: { error: { code: "InternalServiceError", message: "No." } } },
    { status: 503, kind: "overload", body: "<html>" },
  ],
};

/** Bodies as in DashScope's reference (November 2026). */
const QWEN_IMAGE: FamilySubject = {
  family: qwenImage,
  model: "qwen-image-2.0-pro",
  exchanges: [
    {
      name: "links",
      request: { fields: { prompt: "two foxes", n: 2, size: "1024x1024" } },
      response: {
        body: {
          output: {
            choices: [1, 2].map((index) => ({
              finish_reason: "stop",
              message: { role: "assistant", content: [{ image: `https://93.184.216.34/${index}.png` }] },
            })),
          },
          usage: { width: 1024, height: 1024, image_count: 2 },
          request_id: "b1a2",
        },
      },
      expects: { images: 2, usage: { generated_images: 2 } },
    },
    {
      name: "an edit",
      request: { operation: "edit", fields: { prompt: "a fox" } },
      response: {
        body: {
          output: {
            choices: [
              { message: { role: "assistant", content: [{ image: "https://93.184.216.34/1.png" }] } },
            ],
          },
          usage: { image_count: 1, input_image_count: 1 },
          request_id: "b1a3",
        },
      },
      expects: { images: 1, usage: { generated_images: 1, input_image_count: 1 } },
    },
    {
      name: "a refusal with status 200",
      request: { fields: { prompt: "a fox" } },
      response: { body: { code: "DataInspectionFailed", message: "Refused.", request_id: "b1a4" } },
      expects: { images: 0, status: 502, code: "DataInspectionFailed" },
    },
  ],
  failures: [
    { status: 400, kind: "content", body: { code: "InvalidParameter", message: "No." } },
    { status: 400, kind: "credential", body: { code: "Arrearage", message: "No." } },
    { status: 429, kind: "rate", body: { code: "Throttling.RateQuota", message: "No." } },
    { status: 500, kind: "server", body: { code: "InternalError", message: "No." } },
  ],
};

/** The family of the tests, which takes masks and whose refusals have a kind. */
const PAINTER: FamilySubject = {
  family: {
    ...painter,
    normalize: (fields, context) => ({
      ...painter.normalize(fields, context),
      stream: fields["stream"] === true && context.streamFormat === "openai",
    }),
    toFailure: (response) => ({
      ...painter.toFailure(response),
      ...([401, 403].includes(response.status) && { kind: "credential" }),
    }),
  },
  model: "painter-1",
  exchanges: [
    {
      name: "base64",
      request: { operation: "edit", fields: { prompt: "a fox" } },
      response: {
        body: { pictures: [BASE64], tokens: { output_tokens: 100, total_tokens: 140 }, dollars: "0.02" },
      },
      expects: {
        images: 1,
        usage: { generated_images: 1, output_tokens: 100, total_tokens: 140, cost_usd: "0.02" },
      },
    },
    {
      name: "a refusal with status 200",
      request: { fields: { prompt: "a fox" } },
      response: { body: { refused: { why: "blocked", what: "content" } } },
      expects: { images: 0, status: 400, code: "blocked", usage: { generated_images: 0 } },
    },
  ],
  failures: [{ status: 429, kind: "rate", body: {} }],
};

/** Bodies of Wan 2.7 as in DashScope's reference (November 2026). It needs no jobs: its synchronous call is recommended. */
const WAN: FamilySubject = {
  family: qwenImage,
  model: "wan2.7-image-pro",
  exchanges: [
    {
      name: "Wan 2.7",
      request: { fields: { prompt: "two foxes", n: 2, size: "2K" } },
      response: {
        body: {
          output: {
            choices: [1, 2].map((index) => ({
              finish_reason: "stop",
              message: {
                role: "assistant",
                content: [{ type: "image", image: `https://93.184.216.34/${index}.png` }],
              },
            })),
            finished: true,
          },
          usage: { image_count: 2, size: "2048*2048", input_tokens: 10, output_tokens: 2, total_tokens: 12 },
          request_id: "b1a5",
        },
      },
      expects: { images: 2, usage: { generated_images: 2 } },
    },
    {
      name: "an edit by Wan 2.7",
      request: { operation: "edit", fields: { prompt: "a fox" } },
      response: {
        body: {
          output: {
            choices: [
              {
                message: {
                  role: "assistant",
                  content: [{ type: "image", image: "https://93.184.216.34/1.png" }],
                },
              },
            ],
          },
          usage: { image_count: 1 },
          request_id: "b1a6",
        },
      },
      expects: { images: 1, usage: { generated_images: 1 } },
    },
  ],
  failures: [{ status: 400, kind: "content", body: { code: "DataInspectionFailed", message: "No." } }],
};

const developed = { pictures: ["https://93.184.216.34/1.png"] };

/** The family of the tests whose provider works with jobs. */
const DARKROOM: FamilySubject = {
  family: {
    ...darkroom,
    normalize: ({ response_format: format, ...fields }, context) => ({
      ...darkroom.normalize(fields, context),
      stream: fields["stream"] === true && context.streamFormat === "openai",
      responseFormat: format === "b64_json" ? format : "url",
    }),
    toFailure: (response) => ({
      ...darkroom.toFailure(response),
      ...([401, 403].includes(response.status) && { kind: "credential" }),
    }),
  },
  model: "film",
  exchanges: [
    {
      name: "a job",
      request: { fields: { prompt: "a fox" } },
      response: { body: { id: "t1", cost: "0.03", link: "https://films.darkroom.test/jobs/t1" } },
      job: { polls: [{ body: { state: "pending" } }, { body: { state: "done", ...developed } }] },
      expects: { images: 1, usage: { cost_usd: "0.03" } },
    },
    {
      name: "a job that is refused",
      request: { fields: { prompt: "a fox" } },
      response: { body: { id: "t2" } },
      // The name of older versions.
      task: { polls: [{ body: { state: "failed", kind: "content", why: "blocked" } }] },
      expects: { images: 0, status: 400, code: "blocked" },
    },
    {
      name: "a submission that is refused",
      request: { fields: { prompt: "a fox" } },
      response: { body: { refused: { kind: "content", why: "blocked" } } },
      expects: { images: 0, status: 400, code: "blocked" },
    },
  ],
  failures: [{ status: 503, kind: "overload", body: {} }],
};

const FETCHED: FamilySubject = {
  ...DARKROOM,
  dialect: "fetched",
  exchanges: [
    {
      name: "a job whose result is fetched",
      request: { fields: { prompt: "a fox" } },
      response: { body: { id: "t3" } },
      job: {
        polls: [{ body: { state: "pending" } }, { body: { state: "done" } }],
        result: { body: developed },
      },
      expects: { images: 1 },
    },
  ],
};

describe.each([SEEDREAM, QWEN_IMAGE, WAN, PAINTER, DARKROOM, FETCHED])(
  "the family $family.name ($model)",
  (subject) => {
    it.each(createFamilyChecks(subject))("$name", async ({ run }) => {
      await expect(run()).resolves.toBeUndefined();
    });
  },
);

/** A family with a defect, and the checks that find it. */
const DEFECTS: readonly [what: string, subject: FamilySubject, found: RegExp][] = [
  [
    "counts an image twice",
    change(SEEDREAM, { fromUpstream: (body, request) => twice(seedream.fromUpstream(body, request)) }),
    /delivers and charges|read as it arrives/,
  ],
  [
    "allows fewer images than it makes",
    change(QWEN_IMAGE, {
      normalize: (fields, context) => ({ ...qwenImage.normalize(fields, context), maxImages: 0 }),
    }),
    /delivers and charges/,
  ],
  [
    "changes the fields of the client's request from one call to the next",
    change(PAINTER, { toUpstream: () => ({ path: `/x/${Math.random()}` }) }),
    /same call each time/,
  ],
  [
    "sends the key in the query",
    change(PAINTER, {
      toUpstream: () => ({ path: "/x", query: { key: "channel-key-of-the-suite-51c0e7" } }),
    }),
    /key in its headers/,
  ],
  ["sends no key", change(PAINTER, { authorize: () => ({}) }), /key in its headers/],
  [
    "sends a request again after a 500",
    change(SEEDREAM, {
      toFailure: (response) => ({
        ...seedream.toFailure(response),
        ...(response.status === 500 && { kind: "overload" }),
      }),
    }),
    /error 500|not sent again/,
  ],
  [
    "throws at an unknown error",
    change(PAINTER, {
      toFailure: ({ body }) => ({
        kind: "content",
        code: String(body?.["error"]).slice(0) && (body?.["x"] as never),
      }),
    }),
    /unknown errors/,
  ],
  [
    "leaves the mask out",
    change(PAINTER, {
      toUpstream: (request, model) => painter.toUpstream({ ...request, mask: undefined }, model),
    }),
    /a mask reaches the provider/,
  ],
  [
    "reads another usage as the response arrives",
    change(SEEDREAM, {
      ...(seedream.responseShape && {
        responseShape: { ...seedream.responseShape, readUsage: () => undefined },
      }),
    }),
    /read as it arrives|delivers and charges/,
  ],
  [
    "loses images of a stream that is cut",
    change(SEEDREAM, {
      readStream: () => {
        let count = 3;
        return {
          read: () => void count--,
          result: () => ({ images: count, usage: undefined, failure: undefined }),
        };
      },
    }),
    /stream that is cut/,
  ],
  [
    "takes any response for the id of a job",
    changeJobs({ readSubmission: ({ id }) => ({ job: { id: String(id) } }) }),
    /response to the submission cannot be read/,
  ],
  [
    "keeps what it needs of a job to itself",
    changeJobs({ readSubmission: () => ({ job: { id: "t1", data: { url: new URL("https://a.test") } } }) }),
    /stored and continued/,
  ],
  [
    "needs the prompt to read a result",
    change(DARKROOM, {
      fromUpstream: (body, request) =>
        request.prompt === "" ? { images: [], errors: [], fields: {} } : darkroom.fromUpstream(body, request),
    }),
    /stored and continued/,
  ],
  [
    "never ends a job that the provider has ended",
    changeJobs({ readPoll: () => ({ state: "pending" }) }),
    /delivers and charges/,
  ],
];

describe("the checks of families", () => {
  it.each(DEFECTS)("find a family that %s", async (_what, subject, found) => {
    const failed: string[] = [];
    for (const { name, run } of createFamilyChecks(subject)) {
      await run().catch(() => failed.push(name));
    }
    expect(failed.some((name) => found.test(name))).toBe(true);
  });
});

function change(subject: FamilySubject, changes: Partial<FamilySubject["family"]>): FamilySubject {
  return { ...subject, family: { ...subject.family, name: "changed", ...changes } };
}

function changeJobs(changes: Partial<JobProtocol>): FamilySubject {
  return change(DARKROOM, { jobs: { ...jobsOf(darkroom), ...changes } });
}

function jobsOf({ jobs }: Family): JobProtocol {
  if (jobs === undefined) throw new TypeError("The family has jobs.");
  return jobs;
}

function twice<Result extends { readonly images: readonly unknown[] }>(result: Result): Result {
  return { ...result, images: [...result.images, ...result.images] };
}
