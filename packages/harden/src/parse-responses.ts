import type { SeenResponse } from "./check-response.ts";

/** One response of a connection. */
export interface ParsedResponse extends SeenResponse {
  /** True if the response has a length and no body, like the response to HEAD. */
  readonly isHead: boolean;
}

/** Parses the bytes of a connection strictly as HTTP/1.1 responses. */
export function parseResponses(bytes: Buffer): {
  readonly responses: readonly ParsedResponse[];
  readonly problem?: string;
} {
  const responses: ParsedResponse[] = [];
  let rest = bytes;
  while (rest.length > 0) {
    const end = rest.indexOf("\r\n\r\n");
    const head = end === -1 ? undefined : parseHead(rest.subarray(0, end).toString("latin1"));
    if (head === undefined) return { responses, problem: "a response has a valid head" };
    const body = takeBody(head, rest.subarray(end + 4));
    if (body === undefined) return { responses, problem: "a response is framed exactly" };
    responses.push({ ...head, body: body.bytes, isHead: body.isHead });
    rest = body.rest;
  }
  return { responses };
}

type Head = Pick<SeenResponse, "status" | "headers">;

function parseHead(text: string): Head | undefined {
  const [statusLine = "", ...lines] = text.split("\r\n");
  const status = /^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*$/.exec(statusLine)?.[1];
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name, value] = /^([\w!#$%&'*+.^`|~-]+): *([^\r\n\0]*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) return undefined;
    headers[name.toLowerCase()] = value;
  }
  return status === undefined ? undefined : { status: Number(status), headers };
}

interface TakenBody {
  readonly bytes: Buffer;
  readonly rest: Buffer;
  readonly isHead: boolean;
}

function takeBody({ status, headers }: Head, after: Buffer): TakenBody | undefined {
  const none = { bytes: Buffer.alloc(0), rest: after, isHead: false };
  if (status < 200 || status === 204 || status === 304) return none;
  if (headers["transfer-encoding"] === "chunked") return takeChunks(after);
  const length = headers["content-length"];
  if (length === undefined) return { bytes: after, rest: Buffer.alloc(0), isHead: false };
  if (!/^\d+$/.test(length)) return undefined;
  // After the response to a HEAD request comes the next response, or nothing.
  if (after.length === 0 || after.subarray(0, 9).toString("latin1") === "HTTP/1.1 ") {
    return Number(length) === 0 ? none : { ...none, isHead: true };
  }
  const bytes = after.subarray(0, Number(length));
  return bytes.length < Number(length)
    ? undefined
    : { bytes, rest: after.subarray(bytes.length), isHead: false };
}

function takeChunks(bytes: Buffer): TakenBody | undefined {
  const chunks: Buffer[] = [];
  let rest = bytes;
  if (rest.length === 0) return { bytes: rest, rest, isHead: true };
  for (;;) {
    const end = rest.indexOf("\r\n");
    const size = /^[\da-f]+$/i.test(rest.subarray(0, Math.max(0, end)).toString("latin1"))
      ? Number.parseInt(rest.subarray(0, end).toString("latin1"), 16)
      : undefined;
    if (size === undefined) return undefined;
    const chunk = rest.subarray(end + 2, end + 2 + size);
    const mark = rest.subarray(end + 2 + size, end + 4 + size).toString("latin1");
    if (chunk.length < size || mark !== "\r\n") return undefined;
    rest = rest.subarray(end + 4 + size);
    if (size === 0) return { bytes: Buffer.concat(chunks), rest, isHead: false };
    chunks.push(chunk);
  }
}
