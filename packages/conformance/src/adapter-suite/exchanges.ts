import type { GatewayOptions } from "@calotype/core";
import type { Fault } from "@calotype/emulator";
import { editCall, jsonEditCall } from "../support/edit-call.js";
import type { Call } from "../support/http-client.js";
import {
  CALLER_HEADERS,
  GENERATIONS,
  jsonCall,
  QWEN_IMAGE_BODY,
  SEEDREAM_BODY,
} from "../support/image-calls.js";
import { CALLER_KEY, QWEN_IMAGE, SEEDREAM } from "../support/test-gateway.js";

/** A request and the response of every host. */
export interface Exchange {
  readonly behaviour: string;
  readonly call: Call;
  /** Options of the gateway that replace those of the suite. */
  readonly options?: Partial<GatewayOptions>;
  /** The fault of the emulated provider. */
  readonly fault?: Fault;
  readonly status: number;
  /** `error.code` of an error. */
  readonly code?: string;
  /** The number of images in the response. Default: one with status 200, otherwise none. */
  readonly images?: number;
  /** Headers of the response that are added to, or replace, the headers of every response. */
  readonly headers?: Readonly<Record<string, string>>;
}

const body = JSON.stringify(SEEDREAM_BODY);
const json = { "content-type": "application/json" };
const challenge = { "www-authenticate": "Bearer" };

/** The body limit of the gateway in these tests. */
export const BODY_LIMIT = 64 * 1024;

const generations: readonly Exchange[] = [
  { behaviour: "makes an image of family A", call: jsonCall(SEEDREAM_BODY), status: 200 },
  { behaviour: "makes an image of family B", call: jsonCall(QWEN_IMAGE_BODY), status: 200 },
  {
    behaviour: "accepts a body in chunks",
    call: { path: GENERATIONS, headers: CALLER_HEADERS, body: [body.slice(0, 20), body.slice(20)] },
    status: 200,
  },
  {
    behaviour: "accepts a query and ignores it",
    call: { ...jsonCall(SEEDREAM_BODY), path: `${GENERATIONS}?api-version=2026-01-01` },
    status: 200,
  },
  {
    behaviour: "names the fields that had no effect",
    call: jsonCall({ ...SEEDREAM_BODY, quality: "hd", user: null }),
    status: 200,
    headers: { "x-calotype-ignored": "quality" },
  },
];

const streamed = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

const twoKites = { ...SEEDREAM_BODY, prompt: "two paper kites", n: 2, stream: true };

const streams: readonly Exchange[] = [
  {
    behaviour: "relays the provider's events",
    call: jsonCall(twoKites),
    status: 200,
    images: 2,
    headers: streamed,
  },
  {
    behaviour: "relays the error event of the provider",
    call: jsonCall(twoKites),
    fault: { streamErrorAfterImages: 1 },
    status: 200,
    images: 1,
    headers: streamed,
  },
  {
    behaviour: "reports a failure before the first event like that of a request without a stream",
    call: jsonCall(twoKites),
    fault: { code: "InputTextSensitiveContentDetected" },
    status: 400,
    code: "InputTextSensitiveContentDetected",
  },
];

const otherEndpoints: readonly Exchange[] = [
  { behaviour: "edits the image of a form", call: editCall(), status: 200 },
  { behaviour: "edits the image of a JSON body", call: jsonEditCall(), status: 200 },
  {
    behaviour: "refuses an edit that is neither a form nor JSON",
    call: { ...jsonEditCall(), headers: { ...CALLER_HEADERS, "content-type": "text/plain" } },
    status: 415,
    code: "unsupported_media_type",
  },
  {
    behaviour: "refuses a form without an image",
    call: editCall({ image: false }),
    status: 400,
    code: "invalid_request_error",
  },
  {
    behaviour: "passes native requests on",
    call: { ...jsonCall(SEEDREAM_BODY), path: "/api/v3/images/generations" },
    status: 200,
  },
  {
    behaviour: "passes the provider's own error on to native requests",
    call: { ...jsonCall({ ...SEEDREAM_BODY, size: "1x1" }), path: "/api/v3/images/generations" },
    status: 400,
    code: "InvalidParameter",
  },
];

const DASHSCOPE = "/api/v1/services/aigc/multimodal-generation/generation";
const { prompt: _placeholder, ...dashScopeBody } = QWEN_IMAGE_BODY;

const dashScope: readonly Exchange[] = [
  {
    behaviour: "passes requests of DashScope's clients on",
    call: { ...jsonCall(dashScopeBody), path: DASHSCOPE },
    status: 200,
  },
  {
    behaviour: "passes DashScope's own error on to its clients",
    call: { ...jsonCall({ ...dashScopeBody, parameters: { size: "1*1" } }), path: DASHSCOPE },
    status: 400,
  },
  {
    behaviour: "has its own errors in the structure of DashScope's clients",
    call: { ...jsonCall({ ...dashScopeBody, parameters: { n: 2 } }), path: DASHSCOPE },
    status: 400,
    code: "invalid_request_error",
  },
];

const withEdits = {
  models: { [SEEDREAM]: { family: "seedream" }, [QWEN_IMAGE]: { family: "qwen-image", edits: true } },
};

/** What OpenAI's clients send. */
const openAi: readonly Exchange[] = [
  {
    behaviour: "edits an image of a form with a model of family B, if the options allow it",
    call: editCall({ fields: { model: QWEN_IMAGE, prompt: "at night" } }),
    options: withEdits,
    status: 200,
  },
  {
    behaviour: "refuses such a form by default, and names the paths that serve the model",
    call: editCall({ fields: { model: QWEN_IMAGE, prompt: "at night" } }),
    status: 400,
    code: "invalid_request_error",
  },
  {
    behaviour: "streams in OpenAI's format",
    call: jsonCall(twoKites),
    options: { streamFormat: "openai" },
    status: 200,
    images: 2,
    headers: streamed,
  },
  {
    behaviour: "streams an edit of a form in OpenAI's format",
    call: editCall({ fields: { model: SEEDREAM, prompt: "at night", size: "1K", stream: "true" } }),
    options: { streamFormat: "openai" },
    status: 200,
    images: 1,
    headers: streamed,
  },
  {
    behaviour: "streams a model that does not stream in OpenAI's format",
    call: jsonCall({ model: QWEN_IMAGE, prompt: "a fox", stream: true }),
    options: { streamFormat: "openai" },
    status: 200,
    images: 1,
    headers: streamed,
  },
  {
    behaviour: "replaces a size by the nearest one that the model accepts",
    call: jsonCall({ ...SEEDREAM_BODY, size: "512x512" }),
    options: { sizes: "nearest" },
    status: 200,
    headers: { "x-calotype-size": "960x960" },
  },
];

const keys: readonly Exchange[] = [
  {
    behaviour: "accepts the key in the header api-key",
    call: { path: GENERATIONS, headers: { ...json, "api-key": CALLER_KEY }, body },
    status: 200,
  },
  {
    behaviour: 'accepts the scheme "bearer" in lower case',
    call: jsonCall(SEEDREAM_BODY, { authorization: `bearer ${CALLER_KEY}` }),
    status: 200,
  },
  {
    behaviour: "refuses a request without a key",
    call: { path: GENERATIONS, headers: json, body },
    status: 401,
    code: "invalid_api_key",
    headers: challenge,
  },
  {
    behaviour: "refuses a wrong key",
    call: jsonCall(SEEDREAM_BODY, { authorization: "Bearer somebody-elses" }),
    status: 401,
    code: "invalid_api_key",
    headers: challenge,
  },
  {
    behaviour: "checks the key before the body",
    call: { path: GENERATIONS, headers: json, body: "{" },
    status: 401,
    code: "invalid_api_key",
    headers: challenge,
  },
];

const methods: readonly Exchange[] = ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"].map((method) => ({
  behaviour: `refuses the method ${method} and names the one to send`,
  call: { method, path: GENERATIONS, headers: { authorization: `Bearer ${CALLER_KEY}` } },
  status: 405,
  code: "method_not_allowed",
  headers: { allow: "POST" },
}));

const bodies: readonly Exchange[] = [
  {
    behaviour: "refuses a body that is declared too large",
    call: jsonCall({ ...SEEDREAM_BODY, prompt: "x".repeat(BODY_LIMIT) }),
    status: 413,
    code: "request_too_large",
  },
  {
    behaviour: "refuses a body in chunks that grows too large",
    call: { path: GENERATIONS, headers: CALLER_HEADERS, body: ['{"prompt":"', "x".repeat(BODY_LIMIT), '"}'] },
    status: 413,
    code: "request_too_large",
  },
  {
    behaviour: "refuses a body that is not declared as JSON",
    call: { path: GENERATIONS, headers: { ...CALLER_HEADERS, "content-type": "text/plain" }, body },
    status: 415,
    code: "unsupported_media_type",
  },
  {
    behaviour: "refuses JSON in another encoding than UTF-8",
    call: jsonCall(SEEDREAM_BODY, { "content-type": "application/json; charset=utf-16" }),
    status: 415,
    code: "unsupported_media_type",
  },
  {
    behaviour: "refuses a compressed body",
    call: jsonCall(SEEDREAM_BODY, { "content-encoding": "gzip" }),
    status: 415,
    code: "unsupported_media_type",
  },
  {
    behaviour: "refuses an empty body",
    call: { path: GENERATIONS, headers: CALLER_HEADERS },
    status: 400,
    code: "invalid_request_error",
  },
  {
    behaviour: "refuses a body that is not JSON",
    call: { path: GENERATIONS, headers: CALLER_HEADERS, body: body.slice(0, -1) },
    status: 400,
    code: "invalid_request_error",
  },
  {
    behaviour: "refuses a request without a model",
    call: jsonCall({ prompt: "a red fox" }),
    status: 400,
    code: "invalid_request_error",
  },
  {
    behaviour: "refuses a model that no channel serves",
    call: jsonCall({ model: "unheard-of", prompt: "a red fox" }),
    status: 404,
    code: "model_not_found",
  },
];

const providerFailures: readonly Exchange[] = [
  {
    behaviour: "passes on the provider's message about the request",
    call: jsonCall(SEEDREAM_BODY),
    fault: { code: "InputTextSensitiveContentDetected" },
    status: 400,
    code: "InputTextSensitiveContentDetected",
  },
  {
    behaviour: "passes on the other provider's message about the request",
    call: jsonCall(QWEN_IMAGE_BODY),
    fault: { provider: "dashscope", code: "DataInspectionFailed" },
    status: 400,
    code: "DataInspectionFailed",
  },
  {
    behaviour: "passes on the provider's rate limit and the time to wait",
    call: jsonCall(SEEDREAM_BODY),
    fault: { code: "ModelAccountIpmRateLimitExceeded", retryAfterSeconds: 7 },
    status: 429,
    code: "ModelAccountIpmRateLimitExceeded",
    headers: { "retry-after": "7" },
  },
  {
    behaviour: "tells clients not to repeat a request if the provider may have made its images",
    call: jsonCall(SEEDREAM_BODY),
    fault: { code: "InternalServiceError" },
    status: 502,
    code: "InternalServiceError",
    headers: { "x-should-retry": "false" },
  },
  {
    behaviour: "does not tell clients that the provider refused the channel's key",
    call: jsonCall(SEEDREAM_BODY),
    fault: { wrongKey: true },
    status: 401,
    code: "upstream_authentication_failed",
    headers: { "x-should-retry": "false" },
  },
  {
    behaviour: "responds with an error if the upstream response is broken",
    call: jsonCall(SEEDREAM_BODY),
    fault: { malformedJson: true },
    status: 502,
    code: "upstream_invalid_response",
    headers: { "x-should-retry": "false" },
  },
];

/** All requests whose responses must be the same on every host. */
export const EXCHANGES: readonly Exchange[] = [
  ...generations,
  ...streams,
  ...otherEndpoints,
  ...dashScope,
  ...openAi,
  ...keys,
  ...methods,
  ...bodies,
  ...providerFailures,
];
