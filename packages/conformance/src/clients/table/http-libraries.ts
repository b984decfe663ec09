import { request } from "node:http";
import { type ReadResponse, readResponse } from "../../support/http-client.js";

/** A request as the bytes that a program in another language, or an HTTP library, puts on the wire. */
export interface WireRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** In the order and case of the library. */
  readonly headers: readonly (readonly [string, string])[];
  /** A list is sent with `Transfer-Encoding: chunked`, one chunk for each element. */
  readonly body?: Buffer | readonly Buffer[];
}

/** The values that differ between two requests of the same program. */
export interface Varying {
  /** Host and port. */
  readonly host: string;
  readonly boundary?: string;
}

/** A part of a form. Without `filename` it is a field. */
export interface Part {
  readonly name: string;
  readonly value: string | Uint8Array;
  readonly filename?: string;
  readonly type?: string;
}

/** A value that is sent as JSON, JSON as it is, or a form. */
export type Body =
  | { readonly json: unknown }
  | { readonly rawJson: string }
  | { readonly form: readonly Part[] };

/** Sends exactly these headers and bytes, and reads the complete response. */
export function sendOnWire(url: string, { method, path, headers, body }: WireRequest): Promise<ReadResponse> {
  const outgoing = request(url + path, { method, headers: Object.fromEntries(headers), agent: false });
  // Node adds this header, and aiohttp does not send it.
  if (!headers.some(([name]) => name === "Connection")) outgoing.removeHeader("Connection");
  if (Array.isArray(body)) for (const chunk of body) outgoing.write(chunk);
  outgoing.end(Buffer.isBuffer(body) ? body : undefined);
  return readResponse(outgoing);
}

/** openai-python 3.22.1 (httpx), as Dify and LiteLLM use it. */
export function openaiPython(
  { host, boundary = BOUNDARY }: Varying,
  { path, apiKey, body }: { readonly path: string; readonly apiKey: string; readonly body?: Body },
): WireRequest {
  const { bytes, type } =
    body === undefined ? { bytes: undefined, type: "" } : encode(body, httpxForm, boundary, compactJson);
  const isJson = body !== undefined && !("form" in body);
  const isForm = body !== undefined && "form" in body;
  return {
    method: body === undefined ? "GET" : "POST",
    path,
    headers: [
      ["Host", host],
      ["Accept-Encoding", "gzip, deflate"],
      ["Connection", "keep-alive"],
      ["authorization", `Bearer ${apiKey}`],
      ["accept", "application/json"],
      ...(isJson ? [["content-type", "application/json"] as const] : []),
      ["user-agent", "OpenAI/Python 3.22.1"],
      ["x-stainless-lang", "python"],
      ["x-stainless-package-version", "3.22.1"],
      ["x-stainless-os", "Linux"],
      ["x-stainless-arch", "x64"],
      ["x-stainless-runtime", "CPython"],
      ["x-stainless-runtime-version", "3.11.7"],
      ["x-stainless-async", "false"],
      ["x-stainless-retry-count", "0"],
      ["x-stainless-read-timeout", "600"],
      ...(bytes === undefined ? [] : [["Content-Length", String(bytes.length)] as const]),
      ...(isForm ? [["Content-Type", type] as const] : []),
    ],
    ...(bytes && { body: bytes }),
  };
}

/** aiohttp 3.14.3, as Open WebUI and ComfyUI use it. `headers` are those that the program sets. */
export function aiohttp(
  { host, boundary = BOUNDARY }: Varying,
  {
    path,
    headers,
    body,
  }: { readonly path: string; readonly headers: Readonly<Record<string, string>>; readonly body: Body },
): WireRequest {
  const { bytes, type } = encode(body, aiohttpForm, boundary, pythonJson);
  return {
    method: "POST",
    path,
    headers: [
      ["Host", host],
      ...Object.entries(headers),
      ...("Accept" in headers ? [] : [["Accept", "*/*"] as const]),
      ["Accept-Encoding", "gzip, deflate"],
      ["User-Agent", "Python/3.11 aiohttp/3.14.3"],
      ["Content-Length", String(bytes.length)],
      ...("form" in body ? [["Content-Type", type] as const] : []),
    ],
    body: bytes,
  };
}

/** httpx 0.28.1 without the client of OpenAI, as LiteLLM uses it for Volcengine and for edits. */
export function httpx(
  { host, boundary = BOUNDARY }: Varying,
  {
    path,
    headers,
    body,
  }: { readonly path: string; readonly headers: Readonly<Record<string, string>>; readonly body: Body },
): WireRequest {
  const { bytes, type } = encode(body, httpxForm, boundary, compactJson);
  return {
    method: "POST",
    path,
    headers: [
      ["Host", host],
      ["Accept", "*/*"],
      ["Accept-Encoding", "gzip, deflate"],
      ["Connection", "keep-alive"],
      ["User-Agent", "litellm/1.80.0"],
      ...Object.entries(headers),
      ["Content-Length", String(bytes.length)],
      ...("form" in body ? [["Content-Type", type] as const] : []),
    ],
    body: bytes,
  };
}

/** axios 1.21.1, with form-data 4 for forms, as n8n and LibreChat use it. With `streams`, files come from streams. With
 * `isAzure`, the key is in the header `api-key`.
 */
export function axios(
  { host, boundary = AXIOS_BOUNDARY }: Varying,
  {
    path,
    apiKey,
    body,
    streams = false,
    isAzure = false,
  }: {
    readonly path: string;
    readonly apiKey: string;
    readonly body?: Body;
    readonly streams?: boolean;
    readonly isAzure?: boolean;
  },
): WireRequest {
  const authorization = isAzure
    ? (["api-key", apiKey] as const)
    : (["Authorization", `Bearer ${apiKey}`] as const);
  const end = [
    ["Accept-Encoding", "gzip, compress, deflate, br"],
    ["Host", host],
    ["Connection", "keep-alive"],
  ] as const;
  const accept = ["Accept", "application/json, text/plain, */*"] as const;
  const agent = ["User-Agent", "axios/1.21.1"] as const;
  if (body === undefined) return { method: "GET", path, headers: [accept, authorization, agent, ...end] };
  const { bytes, type } = encode(body, formDataForm, boundary, compactJson);
  const contentType = ["Content-Type", type] as const;
  if (streams && "form" in body) {
    const headers = [
      accept,
      contentType,
      authorization,
      agent,
      ...end,
      ["Transfer-Encoding", "chunked"] as const,
    ];
    return { method: "POST", path, headers, body: formDataChunks(body.form, boundary) };
  }
  const length = ["Content-Length", String(bytes.length)] as const;
  return {
    method: "POST",
    path,
    headers: [accept, contentType, authorization, agent, length, ...end],
    body: bytes,
  };
}

const BOUNDARY = "5f0a1bd0b1c6f3e64e1f9c0ce4a7d2b8";
const AXIOS_BOUNDARY = "--------------------------eb99acd083511743c80fc2de";

type FormEncoder = (parts: readonly Part[], boundary: string) => Buffer;

function encode(body: Body, form: FormEncoder, boundary: string, toJson: (value: unknown) => string) {
  if ("rawJson" in body) return { bytes: Buffer.from(body.rawJson), type: "application/json" };
  if ("json" in body) return { bytes: Buffer.from(toJson(body.json)), type: "application/json" };
  return { bytes: form(body.form, boundary), type: `multipart/form-data; boundary=${boundary}` };
}

const compactJson = (value: unknown): string => JSON.stringify(value);

/** `json.dumps` of Python: a space after each colon and comma, and only ASCII. */
function pythonJson(value: unknown): string {
  return toSpacedJson(value).replaceAll(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function toSpacedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toSpacedJson).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([key, member]) => `${JSON.stringify(key)}: ${toSpacedJson(member)}`,
  );
  return `{${members.join(", ")}}`;
}

const toForm =
  (headOf: (part: Part) => string): FormEncoder =>
  (parts, boundary) =>
    Buffer.concat([
      ...parts.flatMap((part) => [
        Buffer.from(`--${boundary}\r\n${headOf(part)}\r\n\r\n`),
        Buffer.from(part.value),
        Buffer.from("\r\n"),
      ]),
      Buffer.from(`--${boundary}--\r\n`),
    ]);

const disposition = ({ name, filename }: Part): string =>
  `Content-Disposition: form-data; name="${name}"${filename === undefined ? "" : `; filename="${filename}"`}`;

const httpxForm = toForm((part) =>
  part.type === undefined ? disposition(part) : `${disposition(part)}\r\nContent-Type: ${part.type}`,
);

const aiohttpForm = toForm(
  (part) => `Content-Type: ${part.type ?? "text/plain; charset=utf-8"}\r\n${disposition(part)}`,
);

const formDataForm: FormEncoder = httpxForm;

/** form-data gives the head, the value and the end of each part to the socket as writes of their own. */
function formDataChunks(parts: readonly Part[], boundary: string): readonly Buffer[] {
  const chunks = parts.flatMap((part, index) => {
    const type = part.type === undefined ? "" : `\r\nContent-Type: ${part.type}`;
    const isLast = index === parts.length - 1;
    return [
      `--${boundary}\r\n${disposition(part)}${type}\r\n\r\n`,
      part.value,
      isLast ? `\r\n--${boundary}--\r\n` : "\r\n",
    ];
  });
  return chunks.map((chunk) => Buffer.from(chunk));
}
