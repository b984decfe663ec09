import type { ReleasedRecord, SettledRecord, UnresolvedRecord } from "../billing/records.js";
import { createGateway, type Gateway } from "../gateway.js";
import type { GatewayOptions } from "../gateway-options/options.js";
import type { Dependencies } from "../kernel/kernel-parts.js";
import { isJsonObject, type JsonObject } from "../util/json.js";

/** The keys, which must not appear in any response, log or record. */
export const CALLER_KEY = "caller-canary-b1946ac9";
export const ARK_KEY = "ark-canary-7d793037";
export const DASHSCOPE_KEY = "dashscope-canary-0a076734";

export const GENERATIONS = "http://gateway.test/v1/images/generations";
export const NATIVE = "http://gateway.test/api/v3/images/generations";

/** A call that a provider received. */
interface SentCall {
  readonly url: string;
  readonly headers: Headers;
  readonly text: string;
  readonly body: JsonObject;
}

/** A provider. It returns its response to a call, or throws for a failed connection. */
export type Provider = (call: SentCall) => Response | Promise<Response>;

/** A response that was read to its end. */
export interface ReadResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Empty if the text is not a JSON object. */
  readonly body: JsonObject;
}

interface LogLine {
  readonly level: "warn" | "error";
  readonly fields: object;
  readonly message: string;
}

/** A gateway with simulated providers, and a client for it. */
export interface TestGateway {
  readonly gateway: Gateway;
  readonly calls: readonly SentCall[];
  /** The settled records that `onUsage` got. */
  readonly records: readonly SettledRecord[];
  /** The other records that `onUsage` got. */
  readonly unresolved: readonly (UnresolvedRecord | ReleasedRecord)[];
  readonly logs: readonly LogLine[];
  /** Posts with the caller's key. An object is sent as JSON, a string or bytes unchanged. */
  readonly post: (body: unknown, headers?: Record<string, string>) => Promise<ReadResponse>;
  /** The same for the native endpoint. */
  readonly postNative: (body: unknown, headers?: Record<string, string>) => Promise<ReadResponse>;
}

export const ARK_RESPONSE = {
  model: "ep-20260101-abcde",
  created: 1_763_683_200,
  data: [{ url: "https://ark.test/1.png", size: "2048x2048" }],
  usage: { generated_images: 1, output_tokens: 16_384, total_tokens: 16_384 },
};

export const DASHSCOPE_RESPONSE = {
  output: {
    choices: [
      {
        finish_reason: "stop",
        message: { role: "assistant", content: [{ image: "https://dashscope.test/1.png" }] },
      },
    ],
  },
  usage: { width: 1328, height: 1328, image_count: 1 },
  request_id: "b1a2",
};

/** Both providers, without failures. */
const healthyProvider: Provider = ({ url }) =>
  Response.json(url.includes("multimodal-generation") ? DASHSCOPE_RESPONSE : ARK_RESPONSE);

/** The error of `fetch` for a refused connection. */
export function refusedConnection(): TypeError {
  return new TypeError("fetch failed", {
    cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }),
  });
}

/**
 * Creates a gateway with models of both families, with and without a row of capabilities, and one channel per family.
 */
export function createTestGateway(
  provider: Provider = healthyProvider,
  options: Partial<GatewayOptions> = {},
  dependencies: Partial<Dependencies> = {},
): TestGateway {
  const calls: SentCall[] = [];
  const records: SettledRecord[] = [];
  const unresolved: (UnresolvedRecord | ReleasedRecord)[] = [];
  const logs: LogLine[] = [];
  const gateway = createGateway(
    {
      models: {
        "seedream-5-0-260128": { family: "seedream" },
        "seedream-4-5-251128": { family: "seedream" },
        "seedream-4-0-250828": { family: "seedream" },
        doodle: { family: "seedream" },
        "image-2.0*": { family: "qwen-image" },
        "image-max": { family: "qwen-image" },
        "image-plus": { family: "qwen-image" },
        "image-edit*": { family: "qwen-image" },
        sketch: { family: "qwen-image" },
      },
      channels: [
        { id: "ark", family: "seedream", apiKey: ARK_KEY },
        { id: "bailian", family: "qwen-image", apiKey: DASHSCOPE_KEY },
      ],
      callers: [{ id: "me", key: CALLER_KEY }],
      onUsage: (record) => void (record.state === "settled" ? records.push(record) : unresolved.push(record)),
      logger: {
        // Refused requests, and what `logCalls` writes.
        info: () => undefined,
        warn: (fields, message) => void logs.push({ level: "warn", fields, message }),
        error: (fields, message) => void logs.push({ level: "error", fields, message }),
      },
      fetch: async (url, init) => {
        const text = typeof init.body === "string" ? init.body : await new Response(init.body).text();
        const call = { url, headers: new Headers(init.headers), text, body: toObject(text) };
        calls.push(call);
        return await provider(call);
      },
      ...options,
    },
    dependencies,
  );
  const post: TestGateway["post"] = async (body, headers = {}) =>
    readResponse(await gateway.fetch(createPost(body, headers)));
  const postNative: TestGateway["postNative"] = async (body, headers = {}) =>
    readResponse(await gateway.fetch(new Request(NATIVE, createPost(body, headers))));
  return { gateway, calls, records, unresolved, logs, post, postNative };
}

/** Creates a POST of the caller. An object is sent as JSON, a string or bytes unchanged. */
export function createPost(body: unknown, headers: Record<string, string> = {}): Request {
  return new Request(GENERATIONS, {
    method: "POST",
    headers: { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json", ...headers },
    body: typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body),
  });
}

export async function readResponse(response: Response): Promise<ReadResponse> {
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: toObject(text) };
}

/** The error envelope for a wrong field. */
export function refusal(param: string): object {
  return {
    error: { type: "invalid_request_error", code: "invalid_request_error", param },
  };
}

function toObject(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
