import type { Emulator } from "../emulator.js";
import { parseJson } from "../json.js";

/** The body has the type of a correct one, so that tests can read its fields. It was not checked. */
export interface TestResponse<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Body;
}

interface ErrorFields {
  readonly code: string;
  readonly message: string;
  readonly param: string;
  readonly type: string;
}

interface ArkItem {
  readonly url?: string;
  readonly b64_json?: string;
  readonly size?: string;
  readonly output_format?: string;
  readonly error?: ErrorFields;
  readonly z_index?: number;
  readonly bounding_box?: readonly number[];
  readonly name?: string;
  readonly description?: string;
}

export interface ArkBody {
  readonly model: string;
  readonly created: number;
  readonly data: readonly ArkItem[];
  readonly usage?: {
    generated_images: number;
    input_images?: number;
    output_tokens: number;
    total_tokens: number;
  };
  readonly error: ErrorFields;
}

export interface DashscopeBody {
  readonly output: {
    readonly choices: readonly {
      finish_reason: string;
      message: { role: string; content: readonly { image?: string; text?: string }[] };
    }[];
    readonly task_metric: { TOTAL: number; SUCCEEDED: number; FAILED: number };
  };
  readonly usage?: Readonly<Record<string, number>>;
  readonly request_id: string;
  readonly code?: string;
  readonly message?: string;
}

export const arkUrl = "http://emulator.test/api/v3/images/generations";
export const dashscopeUrl = "http://emulator.test/api/v1/services/aigc/multimodal-generation/generation";

const key = { authorization: "Bearer a-key" };

/** Sends a request to Ark: with the 4.5 model and a prompt, unless `fields` has others. */
export function askArk(emulator: Emulator, fields: object = {}, headers: Record<string, string> = key) {
  const body = { model: "doubao-seedream-4-5-251128", prompt: "a fox", ...fields };
  return post<ArkBody>(emulator, arkUrl, body, headers);
}

interface DashscopeFields {
  readonly model?: string;
  readonly text?: string;
  readonly images?: readonly string[];
  readonly parameters?: object;
}

/** Sends a request to DashScope: with the 2.0 model and a text, unless `request` has others. */
export function askDashscope(
  emulator: Emulator,
  request: DashscopeFields = {},
  headers: Record<string, string> = key,
) {
  const { model = "qwen-image-2.0", text = "a fox", images = [], parameters } = request;
  const content = [...images.map((image) => ({ image })), { text }];
  const body = { model, input: { messages: [{ role: "user", content }] }, parameters };
  return post<DashscopeBody>(emulator, dashscopeUrl, body, headers);
}

/** A body that is a string is sent as it is. */
export async function post<Body>(
  emulator: Emulator,
  url: string,
  body: unknown,
  headers: Record<string, string> = key,
): Promise<TestResponse<Body>> {
  const response = await emulator.fetch(
    new Request(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    }),
  );
  const text = await response.text();
  // The body of a stream, or of broken JSON, is an empty object. Their tests use `text`.
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: JSON.parse(parseJson(text) === undefined ? "{}" : text),
  };
}

export async function download(emulator: Emulator, url: string | undefined): Promise<Response> {
  if (url === undefined) throw new Error("The response has no link.");
  return emulator.fetch(new Request(url));
}
