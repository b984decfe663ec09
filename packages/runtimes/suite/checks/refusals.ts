import assert from "node:assert/strict";
import { CALLER_KEY, EDITS, GENERATIONS, readResponse, SEEDREAM } from "../bench.ts";
import type { Check } from "../check.ts";
import { expectMatch } from "../expect.ts";

interface Refusal {
  readonly what: string;
  readonly path?: string;
  readonly init: RequestInit;
  readonly status: number;
  readonly error: object;
  /** The status of the response. */
  readonly headers?: Readonly<Record<string, string>>;
}

const authorization = `Bearer ${CALLER_KEY}`;
const json = { authorization, "content-type": "application/json" };
const request = JSON.stringify({ model: SEEDREAM, prompt: "a fox" });
const invalid = { type: "invalid_request_error", code: "invalid_request_error" };
const MAX_BYTES = 10_000;

const REFUSALS: readonly Refusal[] = [
  {
    what: "a body that is not JSON with 400",
    init: { headers: json, body: "{" },
    status: 400,
    error: { ...invalid, message: /JSON/ },
  },
  {
    what: "a request without a model with 400",
    init: { headers: json, body: "{}" },
    status: 400,
    error: { ...invalid, message: "model is required" },
  },
  {
    what: "a form that is cut with 400",
    path: EDITS,
    init: { headers: { authorization, "content-type": "multipart/form-data; boundary=x" }, body: "--x\r\n" },
    status: 400,
    error: { ...invalid, message: /form/ },
  },
  {
    what: "a wrong key with 401",
    init: { headers: { ...json, authorization: "Bearer wrong" }, body: request },
    status: 401,
    error: { type: "authentication_error", code: "invalid_api_key" },
    headers: { "www-authenticate": "Bearer" },
  },
  {
    what: "an unknown model with 404",
    init: { headers: json, body: JSON.stringify({ model: "none", prompt: "a fox" }) },
    status: 404,
    error: { code: "model_not_found" },
  },
  {
    what: "an unknown path with 404",
    path: "/v1/images/variations",
    init: { headers: json, body: request },
    status: 404,
    error: { code: "not_found" },
  },
  {
    what: "a GET with 405",
    init: { method: "GET", headers: json },
    status: 405,
    error: { code: "method_not_allowed" },
    headers: { allow: "POST" },
  },
  {
    what: "a body that is too large with 413",
    init: { headers: json, body: JSON.stringify({ model: SEEDREAM, prompt: "a".repeat(MAX_BYTES) }) },
    status: 413,
    error: { code: "request_too_large" },
  },
  {
    what: "a form that is too large with 413",
    path: EDITS,
    init: {
      headers: { authorization, "content-type": "multipart/form-data; boundary=x" },
      body: "a".repeat(MAX_BYTES + 1),
    },
    status: 413,
    error: { code: "request_too_large" },
  },
  {
    what: "another content type with 415",
    init: { headers: { authorization, "content-type": "text/plain" }, body: request },
    status: 415,
    error: { code: "unsupported_media_type" },
  },
];

/** Requests that are refused before a provider is called, each with an error envelope. */
export const refusals: readonly Check[] = REFUSALS.map(
  ({ what, path = GENERATIONS, init, status, error, headers = {} }): Check => ({
    name: `refuses ${what}`,
    async run({ serve, asked }) {
      const { send, records } = serve({ bodyLimits: { json: MAX_BYTES, form: MAX_BYTES } });
      const response = await readResponse(await send(path, init));
      expectMatch(response, { status, body: { error: { message: /./, ...error } } });
      expectMatch(response.headers.get("x-request-id"), /^req_/, "x-request-id");
      for (const [name, value] of Object.entries(headers)) assert.equal(response.headers.get(name), value);
      assert.deepEqual([records, await asked()], [[], []]);
    },
  }),
);
