import { describe, expect, it } from "vitest";
import { createFamilyChecks } from "../../family-suite/create-family-checks.js";
import type { FamilySubject, RecordedExchange } from "../../family-suite/subject.js";
import { openai } from "./openai.js";

const BASE64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk";
const LONG = BASE64.repeat(320);
const CREATED = 1_763_683_200;
const LINK = "https://93.184.216.34/1.png";

const reported = (output: number) => ({
  input_tokens: 50,
  input_tokens_details: { text_tokens: 10, image_tokens: 40 },
  output_tokens: output,
  output_tokens_details: { image_tokens: output, text_tokens: 0 },
  total_tokens: 50 + output,
});
const recorded = (images: number, output: number, input = 50) => ({
  generated_images: images,
  input_image_tokens: (input / 50) * 40,
  input_text_tokens: (input / 50) * 10,
  output_image_tokens: output,
  output_text_tokens: 0,
  output_tokens: output,
  total_tokens: input + output,
});
const event = (data: { readonly type: string; readonly [member: string]: unknown }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const completed = (type: string, output: number): string =>
  event({ type, b64_json: BASE64, created_at: CREATED, size: "1024x1024", usage: reported(output) });
const ofOpenrouter = (cost: number): string =>
  event({
    type: "image_generation.completed",
    b64_json: BASE64,
    usage: { prompt_tokens: 12, completion_tokens: 1_290, total_tokens: 1_302, cost },
  });

const FAILURES: FamilySubject["failures"] = [
  {
    status: 400,
    kind: "content",
    body: { error: { code: "moderation_blocked", type: "image_generation_user_error", message: "No." } },
  },
  { status: 400, kind: "content", body: { error: { code: "invalid_value", message: "size" } } },
  { status: 400, kind: "credential", body: { error: { code: "billing_hard_limit_reached" } } },
  { status: 401, kind: "credential", body: { error: { code: "invalid_api_key" } } },
  { status: 403, kind: "credential", body: { error: { code: null, message: "Verify your organization." } } },
  { status: 404, kind: "model", body: { error: { code: "model_not_found" } } },
  { status: 429, kind: "rate", body: { error: { code: "rate_limit_exceeded", type: "requests" } } },
  { status: 429, kind: "quota", body: { error: { code: null, type: "insufficient_quota" } } },
  { status: 429, kind: "quota", headers: { "x-should-retry": "false" }, body: {} },
  { status: 500, kind: "server", body: { error: { code: "server_error" } } },
  { status: 503, kind: "overload", body: { error: { code: "server_is_overloaded" } } },
  { status: 503, kind: "server", headers: { "x-should-retry": "false" }, body: "" },
];

const EXCHANGES: readonly RecordedExchange[] = [
  {
    name: "two images",
    request: { fields: { prompt: "two foxes", n: 2 } },
    response: {
      body: {
        created: CREATED,
        background: "opaque",
        output_format: "png",
        size: "1024x1024",
        quality: "high",
        data: [{ b64_json: BASE64 }, { b64_json: BASE64 }],
        usage: reported(300),
      },
    },
    expects: { images: 2, usage: recorded(2, 300) },
  },
  {
    name: "an edit with a large image",
    request: { operation: "edit", fields: { prompt: "a fox" } },
    response: {
      body: { created: CREATED, data: [{ b64_json: LONG }], usage: reported(200), size: "1024x1024" },
    },
    expects: { images: 1, usage: recorded(1, 200) },
  },
  {
    name: "no usage",
    request: { fields: { prompt: "a fox" } },
    response: { body: { data: [{ b64_json: LONG }] } },
    expects: { images: 1, usage: { generated_images: 1 } },
  },
  {
    name: "usage of zeros",
    request: { fields: { prompt: "a fox" } },
    response: {
      body: {
        created: CREATED,
        data: [{ b64_json: BASE64 }],
        usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
      },
    },
    expects: { images: 1, usage: { generated_images: 1 } },
  },
  {
    name: "a link of another server",
    request: { fields: { prompt: "a fox" } },
    response: { body: { created: CREATED, model: "sd", data: [{ url: LINK }] } },
    expects: { images: 1, usage: { generated_images: 1 } },
  },
  {
    name: "a stream",
    request: { fields: { prompt: "two foxes", stream: true, n: 2, partial_images: 1 } },
    response: {
      body:
        event({ type: "image_generation.partial_image", b64_json: BASE64, partial_image_index: 0 }) +
        completed("image_generation.completed", 100) +
        completed("image_generation.completed", 200),
    },
    expects: { images: 2, usage: recorded(2, 300, 100) },
  },
  {
    name: "the stream of an edit",
    request: { operation: "edit", fields: { prompt: "a fox", stream: true } },
    response: { body: `${completed("image_edit.completed", 100)}data: [DONE]\n\n` },
    expects: { images: 1, usage: recorded(1, 100) },
  },
  {
    name: "a refusal with status 200",
    request: { fields: { prompt: "a fox" } },
    response: { body: { error: { code: "moderation_blocked", message: "Refused." } } },
    expects: { images: 0, status: 400, code: "moderation_blocked" },
  },
  {
    name: "nothing",
    request: { fields: { prompt: "a fox" } },
    response: { body: { created: CREATED, data: [] } },
    expects: { images: 0, status: 502, code: "upstream_no_image" },
  },
];

const SUBJECTS: FamilySubject[] = [
  { family: openai, model: "gpt-image-2.6-flare", exchanges: EXCHANGES, failures: FAILURES },
];

const URL_RESPONSE = { body: { created: CREATED, data: [{ url: LINK }] } };

/** One exchange of each dialect, and the errors that only it has. */
SUBJECTS.push(
  {
    family: openai,
    dialect: "azure",
    model: "gpt-image-2",
    exchanges: [
      {
        name: "an edit",
        request: { operation: "edit", fields: { prompt: "a fox" } },
        response: {
          body: {
            created: CREATED,
            prompt_filter_results: [{ prompt_index: 0 }],
            data: [{ b64_json: LONG, content_filter_results: {} }],
            usage: reported(200),
          },
        },
        expects: { images: 1, usage: recorded(1, 200) },
      },
    ],
    failures: [
      { status: 400, kind: "content", body: { error: { code: "contentFilter", message: "No." } } },
      { status: 403, kind: "credential", body: { error: { code: "Forbidden", message: "Blocked." } } },
      { status: 404, kind: "model", body: { error: { code: "DeploymentNotFound", message: "No." } } },
      { status: 429, kind: "rate", body: { error: { code: "RateLimitReached", message: "Wait." } } },
    ],
  },
  {
    family: openai,
    dialect: "xai",
    model: "grok-imagine-image",
    exchanges: [
      {
        name: "one of two images",
        request: { fields: { prompt: "two foxes", n: 2, size: "1024x1536" } },
        response: {
          body: {
            data: [
              { url: LINK, mime_type: "image/jpeg", respect_moderation: true },
              { url: "", mime_type: "", respect_moderation: false },
            ],
            usage: { cost_in_usd_ticks: 200_000_000 },
          },
        },
        expects: { images: 1, usage: { generated_images: 1, cost_usd: "0.02" } },
      },
    ],
    failures: [
      { status: 400, kind: "content", body: { code: "Client specified an invalid argument", error: "No." } },
      { status: 429, kind: "rate", body: { code: "Some resource has been exhausted", error: "Too many." } },
      {
        status: 429,
        kind: "quota",
        body: { code: "Some resource has been exhausted", error: "You used all available credits." },
      },
    ],
  },
  {
    family: openai,
    dialect: "openrouter",
    model: "google/gemini-3-pro-image",
    exchanges: [
      {
        name: "an image",
        request: { fields: { prompt: "a fox" } },
        response: {
          body: {
            created: CREATED,
            data: [{ b64_json: LONG, media_type: "image/png" }],
            usage: {
              prompt_tokens: 12,
              completion_tokens: 1_300,
              total_tokens: 1_312,
              completion_tokens_details: { image_tokens: 1_290 },
              cost: 0.04,
            },
          },
        },
        expects: {
          images: 1,
          usage: {
            generated_images: 1,
            output_tokens: 1_300,
            total_tokens: 1_312,
            output_image_tokens: 1_290,
            output_text_tokens: 10,
            cost_usd: "0.04",
          },
        },
      },
      {
        name: "a stream whose costs are added exactly",
        request: { fields: { prompt: "three foxes", stream: true, n: 3 } },
        response: {
          body:
            event({ type: "image_generation.text_chunk", text: "Here." }) +
            [0.1, 0.2, 0.000_000_000_012].map(ofOpenrouter).join(""),
        },
        expects: {
          images: 3,
          usage: {
            generated_images: 3,
            output_tokens: 3_870,
            total_tokens: 3_906,
            cost_usd: "0.300000000012",
          },
        },
      },
    ],
    failures: [
      { status: 402, kind: "quota", body: { error: { code: 402, message: "Insufficient credits" } } },
      { status: 403, kind: "content", body: { error: { code: 403, message: "Flagged." } } },
      { status: 429, kind: "rate", body: { error: { code: 429, message: "Wait." } } },
      { status: 524, kind: "server", body: { error: { code: 524, message: "Late." } } },
      { status: 529, kind: "overload", body: { error: { code: 529, message: "Busy." } } },
    ],
  },
  {
    family: openai,
    dialect: "together",
    model: "black-forest-labs/FLUX.2-dev",
    exchanges: [
      {
        name: "a link",
        request: { fields: { prompt: "a fox", size: "1024x768" } },
        response: {
          body: { id: "a", model: "x", object: "list", data: [{ index: 0, type: "url", url: LINK }] },
        },
        expects: { images: 1, usage: { generated_images: 1 } },
      },
    ],
    failures: [
      { status: 402, kind: "quota", body: { error: { code: "credit_limit", message: "No." } } },
      { status: 422, kind: "content", body: { error: { code: "nsfw_content", message: "No." } } },
      { status: 404, kind: "model", body: { error: { code: "model_not_available", message: "No." } } },
    ],
  },
  {
    family: openai,
    dialect: "siliconflow",
    model: "Kwai-Kolors/Kolors",
    exchanges: [
      {
        name: "two links",
        request: { fields: { prompt: "two foxes", n: 2 } },
        response: { body: { images: [{ url: LINK }, { url: LINK }], timings: { inference: 2 }, seed: 7 } },
        expects: { images: 2, usage: { generated_images: 2 } },
      },
    ],
    failures: [
      { status: 400, kind: "content", body: { code: 20021, message: "Sensitive.", data: null } },
      { status: 400, kind: "model", body: { code: 20012, message: "No model.", data: null } },
      { status: 403, kind: "quota", body: { code: 30001, message: "Balance.", data: null } },
      { status: 429, kind: "rate", body: { code: 50602, message: "Wait.", data: null } },
      { status: 503, kind: "overload", body: { code: 50603, message: "Busy.", data: null } },
    ],
  },
  {
    family: openai,
    dialect: "zhipu",
    model: "cogview-4",
    exchanges: [
      {
        name: "a link",
        request: { fields: { prompt: "a fox", size: "1024x1024", quality: "hd" } },
        response: URL_RESPONSE,
        expects: { images: 1, usage: { generated_images: 1 } },
      },
    ],
    failures: [
      { status: 400, kind: "content", body: { error: { code: "1301", message: "Unsafe." } } },
      { status: 400, kind: "model", body: { error: { code: "1211", message: "No model." } } },
      { status: 429, kind: "quota", body: { error: { code: "1113", message: "Arrears." } } },
      { status: 429, kind: "rate", body: { error: { code: "1302", message: "Wait." } } },
    ],
  },
  {
    family: openai,
    dialect: "vllm",
    model: "Qwen/Qwen-Image",
    exchanges: [
      {
        name: "an image",
        request: { fields: { prompt: "a fox" } },
        response: { body: { created: CREATED, data: [{ b64_json: LONG, url: null, revised_prompt: null }] } },
        expects: { images: 1, usage: { generated_images: 1 } },
      },
    ],
    failures: [
      { status: 422, kind: "content", body: { detail: [{ loc: ["body", "n"], msg: "No.", type: "int" }] } },
      { status: 503, kind: "overload", body: { detail: "Loading." } },
    ],
  },
  {
    family: openai,
    dialect: "localai",
    model: "flux",
    exchanges: [
      {
        name: "an image",
        request: { fields: { prompt: "a fox" } },
        response: {
          body: {
            created: CREATED,
            id: "a",
            data: [{ embedding: null, index: 0, b64_json: LONG }],
            usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
          },
        },
        expects: { images: 1, usage: { generated_images: 1 } },
      },
    ],
    failures: [{ status: 500, kind: "server", body: { error: { code: 500, message: "rpc", type: "" } } }],
  },
  {
    family: openai,
    dialect: "relay",
    model: "gpt-image-2",
    exchanges: [
      {
        name: "APIMart's task",
        request: { fields: { prompt: "a fox" } },
        response: { body: { code: 200, data: [{ status: "submitted", task_id: "task_01KPQ7J7" }] } },
        job: {
          polls: [
            { body: { code: 200, data: { id: "task_01KPQ7J7", status: "processing", progress: 10 } } },
            {
              body: {
                code: 200,
                data: {
                  id: "task_01KPQ7J7",
                  status: "completed",
                  progress: 100,
                  cost: 0.04,
                  result: { images: [{ url: [LINK], expires_at: 1_763_174_708 }] },
                },
              },
            },
          ],
        },
        expects: { images: 1, usage: { generated_images: 1, cost_usd: "0.04" } },
      },
      {
        name: "EvoLink's task, for an edit",
        request: { operation: "edit", fields: { prompt: "a fox" } },
        response: { body: { id: "task-unified-1", object: "image.generation.task", status: "pending" } },
        job: {
          polls: [
            { body: { id: "task-unified-1", status: "processing", progress: 40 } },
            { body: { id: "task-unified-1", status: "completed", progress: 100, results: [LINK] } },
          ],
        },
        expects: { images: 1, usage: { generated_images: 1 } },
      },
      {
        name: "an image at once, without a task",
        request: { fields: { prompt: "a fox" } },
        response: { body: { created: CREATED, data: [{ url: LINK }] } },
        expects: { images: 1, usage: { generated_images: 1 } },
      },
      {
        name: "a task that was refused",
        request: { fields: { prompt: "a fox" } },
        response: { body: { code: 200, data: [{ status: "submitted", task_id: "task_2" }] } },
        job: {
          polls: [
            {
              body: {
                id: "task_2",
                status: "failed",
                error: { code: "content_policy_violation", message: "Blocked by safety filters." },
              },
            },
          ],
        },
        expects: { images: 0, status: 400, code: "content_policy_violation" },
      },
      {
        name: "a task that failed",
        request: { fields: { prompt: "a fox" } },
        response: { body: { code: 200, data: [{ status: "submitted", task_id: "task_3" }] } },
        job: { polls: [{ body: { code: 200, data: { status: "failed", error: "boom" } } }] },
        expects: { images: 0, status: 502, code: "failed" },
      },
    ],
    failures: [
      { status: 400, kind: "content", body: { error: { code: 400, message: "No.", type: "invalid" } } },
      { status: 401, kind: "credential", body: { error: { code: 401, message: "Key." } } },
      { status: 402, kind: "quota", body: { error: { message: "Balance." } } },
      { status: 404, kind: "model", body: { error: { code: 404, message: "No model." } } },
      { status: 429, kind: "rate", body: { error: { code: 429, message: "Wait." } } },
      { status: 503, kind: "overload", body: { error: { code: 503, message: "Busy." } } },
    ],
  },
);

/** Tokens as the services with OpenAI's names report them without the details of the output. */
const MINIMAX_TOKENS = {
  input_tokens: 50,
  input_tokens_details: { text_tokens: 10, image_tokens: 40 },
  output_tokens: 1_024,
  total_tokens: 1_074,
};

SUBJECTS.push(
  {
    family: openai,
    dialect: "minimax",
    model: "MiniMax-H3-Image",
    exchanges: [
      {
        name: "one of two images, with tokens",
        request: { fields: { prompt: "two foxes", n: 2, size: "1024x1024", seed: 1 } },
        response: {
          body: {
            created: CREATED,
            data: [{ url: LINK }, { error: { code: "1027", message: "output new_sensitive (1027)" } }],
            usage: MINIMAX_TOKENS,
          },
        },
        expects: {
          images: 1,
          usage: {
            generated_images: 1,
            input_image_tokens: 40,
            input_text_tokens: 10,
            output_image_tokens: 1_024,
            output_tokens: 1_024,
            total_tokens: 1_074,
          },
        },
      },
      {
        name: "an edit as base64",
        request: { operation: "edit", fields: { prompt: "a fox", response_format: "b64_json" } },
        response: { body: { created: CREATED, data: [{ b64_json: LONG }] } },
        expects: { images: 1, usage: { generated_images: 1 } },
      },
    ],
    failures: [
      {
        status: 400,
        kind: "content",
        body: { type: "error", error: { type: "bad_request_error", message: "input new_sensitive (1026)" } },
      },
      {
        status: 401,
        kind: "credential",
        body: { error: { type: "authorized_error", message: "login fail (1004)" } },
      },
      {
        status: 402,
        kind: "quota",
        body: { error: { type: "insufficient_balance_error", http_code: "402" } },
      },
      {
        status: 500,
        kind: "quota",
        body: { error: { type: "api_error", message: "insufficient balance (1008)" } },
      },
      {
        status: 429,
        kind: "quota",
        body: { error: { type: "rate_limit_error", message: "usage limit exceeded (2056)" } },
      },
      {
        status: 429,
        kind: "rate",
        body: { error: { type: "rate_limit_error", message: "rate limit (1002)" } },
      },
      {
        status: 529,
        kind: "overload",
        body: { error: { type: "overloaded_error", message: "high load (2064)" } },
      },
      {
        status: 500,
        kind: "server",
        body: { error: { type: "api_error", message: "unknown error (1000)" } },
      },
    ],
  },
  {
    family: openai,
    dialect: "recraft",
    model: "recraftv4_1",
    exchanges: [
      {
        name: "two links with their cost",
        request: { fields: { prompt: "two foxes", n: 2, size: "1024x1024" } },
        response: {
          body: { created: CREATED, credits: 70, data: [1, 2].map(() => ({ image_id: "a", url: LINK })) },
        },
        expects: { images: 2, usage: { generated_images: 2, cost_usd: "0.07" } },
      },
      {
        name: "an edit",
        request: { operation: "edit", fields: { prompt: "a fox", strength: "0.2" } },
        response: { body: { created: CREATED, credits: 35, data: [{ b64_json: LONG }] } },
        expects: { images: 1, usage: { generated_images: 1, cost_usd: "0.035" } },
      },
    ],
    failures: [
      { status: 400, kind: "content", body: { code: "invalid_request", message: "No." } },
      { status: 401, kind: "credential", body: { code: "unauthorized", message: "Token." } },
      { status: 402, kind: "quota", body: { code: "not_enough_credits", message: "Units." } },
      { status: 429, kind: "rate", body: { code: "rate_limit", message: "Wait." } },
      { status: 503, kind: "overload", body: "" },
    ],
  },
  {
    family: openai,
    dialect: "mai",
    model: "MAI-Image-2.7",
    exchanges: [
      {
        name: "an image whose tokens have the service's own names",
        request: { fields: { prompt: "a fox", size: "1024x1024" } },
        response: {
          body: {
            created: CREATED,
            data: [{ b64_json: LONG }],
            usage: { num_input_text_tokens: 10, num_input_image_tokens: 0, num_output_tokens: 1_024 },
          },
        },
        expects: {
          images: 1,
          usage: {
            generated_images: 1,
            input_image_tokens: 0,
            input_text_tokens: 10,
            output_image_tokens: 1_024,
            output_tokens: 1_024,
            total_tokens: 1_034,
          },
        },
      },
      {
        name: "an edit without usage",
        request: { operation: "edit", fields: { prompt: "a fox" } },
        response: { body: { created: CREATED, data: [{ b64_json: BASE64 }] } },
        expects: { images: 1, usage: { generated_images: 1 } },
      },
    ],
    failures: [
      { status: 400, kind: "content", body: { error: { code: "content_policy_violation", message: "No." } } },
      { status: 404, kind: "model", body: { error: { code: "DeploymentNotFound", message: "No." } } },
      { status: 429, kind: "rate", body: { error: { code: "RateLimitReached", message: "Wait." } } },
    ],
  },
  {
    family: openai,
    dialect: "ideogram",
    model: "ideogram-4-5",
    exchanges: [
      {
        name: "one of two images",
        request: { fields: { prompt: "two foxes", n: 2, size: "1440x720", quality: "low" } },
        response: {
          body: {
            generation_id: "a",
            created: "2026-11-20T00:00:00Z",
            seed: 1,
            usage_cost_usd_micros: 60_000,
            data: [
              { url: LINK, prompt: "p", resolution: "1440x720", is_image_safe: true, seed: 1 },
              { url: null, prompt: "p", resolution: "1440x720", is_image_safe: false, seed: 2 },
            ],
          },
        },
        expects: { images: 1, usage: { generated_images: 1, cost_usd: "0.06" } },
      },
      {
        name: "an image that is held back",
        request: { operation: "edit", fields: { prompt: "a fox" } },
        response: { body: { generation_id: "a", data: [{ url: null, is_image_safe: false }] } },
        expects: { images: 0, status: 400, code: "content_moderated" },
      },
    ],
    failures: [
      { status: 401, kind: "credential", body: { error: "Not authorized." } },
      { status: 402, kind: "quota", body: { error: "No credit.", reject_reason: "insufficient_funds" } },
      { status: 422, kind: "content", body: { error: "Not safe." } },
      { status: 429, kind: "rate", body: { error: "Too many." } },
    ],
  },
  {
    family: openai,
    dialect: "tokenhub",
    model: "hy-image-v3",
    exchanges: [
      {
        name: "an edit",
        request: { operation: "edit", fields: { prompt: "a fox", revise: "false" } },
        response: {
          body: { request_id: "a", created: CREATED, data: [{ url: LINK, revised_prompt: "A fox." }] },
        },
        expects: { images: 1, usage: { generated_images: 1 } },
      },
    ],
    failures: [
      { status: 401, kind: "credential", body: { error: { message: "Key." } } },
      { status: 402, kind: "quota", body: { error: { message: "Balance." } } },
      { status: 422, kind: "content", body: { error: { code: "content_filter", message: "No." } } },
      { status: 429, kind: "rate", body: { error: { message: "Wait." } } },
    ],
  },
);

const named = SUBJECTS.map((subject) => ({ name: subject.dialect ?? "openai itself", subject }));

describe.each(named)("the dialect of $name", ({ subject }) => {
  it.each(createFamilyChecks(subject))("$name", async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});
