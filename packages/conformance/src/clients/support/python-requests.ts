import { request } from "node:http";
import { type ReadResponse, readResponse } from "../../support/http-client.js";

/** A body as openai-python builds it, and its content type. */
export interface PythonBody {
  readonly contentType: string;
  readonly bytes: Buffer;
}

/** JSON as openai-python sends it: no spaces, characters unescaped, `None` as `null`. */
export function jsonBody(text: string): PythonBody {
  return { contentType: "application/json", bytes: Buffer.from(text) };
}

/**
 * A file of a form. Its type follows from its name, and its name from the path. Bytes without a name are
 * called `upload`.
 */
export interface PythonFile {
  readonly name: string;
  readonly filename: string;
  readonly type: string;
  readonly bytes: Uint8Array;
}

const BOUNDARY = "5f0a1bd0b1c6f3e64e1f9c0ce4a7d2b8";

/** A form of httpx: the fields come first, then the files. Fields that are `None` are not sent. */
export function formBody(fields: Readonly<Record<string, string>>, files: readonly PythonFile[]): PythonBody {
  const head = (disposition: string): Buffer =>
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`);
  const end = Buffer.from("\r\n");
  const bytes = Buffer.concat([
    ...Object.entries(fields).flatMap(([name, value]) => [head(`name="${name}"`), Buffer.from(value), end]),
    ...files.flatMap((file) => [
      head(`name="${file.name}"; filename="${file.filename}"\r\nContent-Type: ${file.type}`),
      file.bytes,
      end,
    ]),
    Buffer.from(`--${BOUNDARY}--\r\n`),
  ]);
  return { contentType: `multipart/form-data; boundary=${BOUNDARY}`, bytes };
}

/** Sends a request with exactly the headers of openai-python, in their order and case. */
export function sendAsPython(
  { url, apiKey }: { readonly url: string; readonly apiKey: string },
  path: string,
  { contentType, bytes }: PythonBody,
): Promise<ReadResponse> {
  const { host } = new URL(url);
  const headers: readonly (readonly [string, string])[] = [
    ["Host", host],
    ["Accept-Encoding", "gzip, deflate"],
    ["Connection", "keep-alive"],
    ["Accept", "application/json"],
    ["User-Agent", "OpenAI/Python 1.95.1"],
    ["X-Stainless-Lang", "python"],
    ["X-Stainless-Package-Version", "1.95.1"],
    ["X-Stainless-OS", "Linux"],
    ["X-Stainless-Arch", "x64"],
    ["X-Stainless-Runtime", "CPython"],
    ["X-Stainless-Runtime-Version", "3.13.5"],
    ["Authorization", `Bearer ${apiKey}`],
    ["X-Stainless-Async", "false"],
    ["x-stainless-retry-count", "0"],
    ["x-stainless-read-timeout", "600"],
    ["Content-Length", String(bytes.length)],
    ["Content-Type", contentType],
  ];
  const outgoing = request(url + path, { method: "POST", headers: headers.flat(), agent: false });
  outgoing.end(bytes);
  return readResponse(outgoing);
}
