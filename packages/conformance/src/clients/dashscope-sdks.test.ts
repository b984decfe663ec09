import { expect, it, vi } from "vitest";
import type { ReadResponse } from "../support/http-client.js";
import { useProviders } from "../support/use-providers.js";
import { sentUpstream } from "./support/sent-upstream.js";
import { CALLER_KEY, QWEN_IMAGE_2, serve } from "./support/serve.js";
import { sendOnWire } from "./table/http-libraries.js";

/*
 * The asynchronous requests of DashScope's official SDKs, with the bytes that their sources build, and what they read:
 * dashscope/dashscope-sdk-python (`aigc/image_generation.py`, `aigc/image_synthesis.py`, `client/base_api.py`,
 * `api_entities/http_request.py`) and dashscope/dashscope-sdk-java (`aigc/imagegeneration`, `protocol/DashScopeHeaders.java`).
 */

const providers = useProviders();

interface Sdk {
  readonly name: string;
  readonly path: string;
  readonly agent: string;
  readonly body: object;
  /** The link of the first image, where the SDK's result has it. */
  readonly readLink: (output: Output) => string | undefined;
}

interface Output {
  readonly task_id: string;
  readonly task_status: string;
  readonly choices?: readonly {
    readonly message: { readonly content: readonly { readonly image: string }[] };
  }[];
  readonly results?: readonly { readonly url: string }[];
}

interface TaskResult {
  readonly request_id: string;
  readonly output: Output;
  readonly usage?: { readonly image_count?: number };
}

const PYTHON = "dashscope/1.26.0; python/3.11.7; platform/Linux-x86_64; processor/x86_64";
const JAVA = "dashscope/2.22.4; java/17.0.13; platform/Linux; processor/amd64";
const MESSAGES = [{ role: "user", content: [{ text: "2 images of a fox" }] }];
const readChoice: Sdk["readLink"] = ({ choices }) => choices?.[0]?.message.content[0]?.image;

const SDKS: readonly Sdk[] = [
  {
    name: "ImageGeneration.async_call of Python",
    path: "image-generation/generation",
    agent: `${PYTHON}; incremental_to_full/0`,
    // The SDK also sends its own argument.
    body: { input: { messages: MESSAGES }, parameters: { is_async: true, size: "1024*1024", n: 2 } },
    readLink: readChoice,
  },
  {
    name: "ImageSynthesis.call of Python",
    path: "text2image/image-synthesis",
    agent: PYTHON,
    body: {
      input: { prompt: "2 images of a fox", negative_prompt: "owls" },
      parameters: { n: 2, size: "1024*1024", prompt_extend: true, watermark: false },
    },
    readLink: ({ results }) => results?.[0]?.url,
  },
  {
    name: "ImageGeneration.asyncCall of Java",
    path: "image-generation/generation",
    agent: JAVA,
    body: { input: { messages: MESSAGES }, parameters: { n: 2, size: "1024*1024" } },
    readLink: readChoice,
  },
];

it.each(SDKS)("$name makes a task, and wait returns its images", async ({ path, agent, body, readLink }) => {
  const { url, records } = await serve(providers());
  const headers = [
    ["user-agent", agent],
    ["Accept", "application/json; charset=utf-8"],
    ["Authorization", `Bearer ${CALLER_KEY}`],
  ] as const;
  const bytes = Buffer.from(JSON.stringify({ model: QWEN_IMAGE_2, ...body }));

  const { output: submitted } = readResult(
    await sendOnWire(url, {
      method: "POST",
      path: `/api/v1/services/aigc/${path}`,
      headers: [
        ["X-DashScope-Async", "enable"],
        ...headers,
        ["Content-Type", "application/json; charset=utf-8"],
        ["Content-Length", String(bytes.length)],
      ],
      body: bytes,
    }),
  );
  let result: TaskResult = { request_id: "", output: submitted };
  await vi.waitFor(async () => {
    const task = { method: "GET", path: `/api/v1/tasks/${submitted.task_id}`, headers } as const;
    result = readResult(await sendOnWire(url, task));
    expect(["FAILED", "CANCELED", "SUCCEEDED", "UNKNOWN"]).toContain(result.output.task_status);
  });

  expect(submitted.task_status).toBe("PENDING");
  // What `ImageGenerationOutput` and `ImageGenerationUsage` of Java read, apart from the images.
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/);
  expect(result).toMatchObject({
    request_id: expect.stringMatching(/^req_/),
    output: {
      task_id: submitted.task_id,
      task_status: "SUCCEEDED",
      finished: true,
      submit_time: time,
      end_time: time,
      task_metrics: { TOTAL: 2, SUCCEEDED: 2, FAILED: 0 },
    },
    usage: { image_count: 2 },
  });
  expect((await fetch(readLink(result.output) ?? "")).headers.get("content-type")).toMatch(/^image\//);
  expect(sentUpstream(providers())).toMatchObject([
    { input: { messages: [{ content: [{ text: "2 images of a fox" }] }] }, parameters: { n: 2 } },
  ]);
  expect(records).toMatchObject([{ images: 2, charge: "0.15" }]);
});

/** The SDKs read a response only if its status is 200. */
function readResult({ status, text }: ReadResponse): TaskResult {
  expect(status).toBe(200);
  return JSON.parse(text);
}
