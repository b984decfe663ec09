import { inspect } from "node:util";
import type { GatewayRequest, GatewayResponse } from "@calotype/core/adapter";
import type { SeenResponse } from "./check-response.ts";
import { cutAt, fromBytes, insertKey } from "./grammar/bytes.ts";
import type { RequestInput } from "./grammar/requests.ts";
import { CALLER_KEY, type WatchedGateway } from "./watched-gateway.ts";

/** Sends a request to the gateway in this process and reads the response. `undefined`: the path belongs to another handler. */
export function sendRequest(
  { gateway }: WatchedGateway,
  input: RequestInput,
): Promise<SeenResponse> | undefined {
  const request = input.via === "fetch" ? toWebRequest(input) : undefined;
  if (request !== undefined)
    return gateway.fetch(request).then((response) => readWebResponse(response, input));
  return gateway.handle(toGatewayRequest(input))?.then((response) => readResponse(response, input));
}

/** Returns `undefined` if the class `Request` does not allow the request. */
function toWebRequest(input: RequestInput): Request | undefined {
  try {
    const body = input.body === null ? null : ReadableStream.from(toChunks(input));
    return new Request(`http://gateway.example${input.path}`, {
      method: input.method,
      headers: input.headers.map(([name, value]) => [name, withKey(value)]),
      body,
      duplex: "half",
    });
  } catch {
    return undefined;
  }
}

function toGatewayRequest(input: RequestInput): GatewayRequest {
  const signal = { aborted: false };
  const get = (name: string): string | null => {
    const values = input.headers.filter(([other]) => other.toLowerCase() === name.toLowerCase());
    return values.length === 0 ? null : values.map(([, value]) => withKey(value)).join(", ");
  };
  const body = input.body && toChunks(input, () => (signal.aborted = true));
  return { method: input.method, url: input.path, headers: { get }, body, signal };
}

async function* toChunks(
  { body, cuts, ending }: RequestInput,
  onAbort: () => void = () => undefined,
): AsyncGenerator<Uint8Array> {
  const sent = insertKey(fromBytes(body ?? { text: "" }), "$CALLER_KEY", CALLER_KEY);
  // Copies, because the gateway may keep or free the chunks.
  for (const chunk of cutAt(sent, cuts)) yield Uint8Array.from(chunk);
  if (ending === "whole") return;
  if (ending === "stalls") await new Promise(() => undefined);
  if (ending === "aborts") onAbort();
  throw new Error("The connection broke.");
}

function withKey(text: string): string {
  return text.replaceAll("$CALLER_KEY", CALLER_KEY);
}

async function readWebResponse(response: Response, { reader }: RequestInput): Promise<SeenResponse> {
  const head = { status: response.status, headers: Object.fromEntries(response.headers) };
  return { ...head, ...(await readBody(response.body ?? [], reader)) };
}

async function readResponse(
  { status, headers, body }: GatewayResponse,
  { reader }: RequestInput,
): Promise<SeenResponse> {
  if (typeof body === "string") return { status, headers, body: Buffer.from(body) };
  if (body instanceof Uint8Array) return { status, headers, body: Buffer.from(body) };
  return { status, headers, ...(await readBody(body, reader)) };
}

type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

async function readBody(
  body: Chunks,
  reader: RequestInput["reader"],
): Promise<Pick<SeenResponse, "body" | "failure">> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of body) {
      chunks.push(Buffer.from(chunk));
      if (reader === "leaves") throw new ClientLeft();
    }
    return { body: Buffer.concat(chunks) };
  } catch (failure) {
    return { body: Buffer.concat(chunks), failure };
  }
}

/** The failure of a response whose client left on purpose. */
export class ClientLeft extends Error {}

/** A response as text, for a finding. */
export function describeSeen({ status, headers, body, failure }: SeenResponse): string {
  const text = body.toString().slice(0, 1_000);
  return `${status} ${JSON.stringify(headers)}\n${text}${failure === undefined ? "" : `\n${inspect(failure)}`}`;
}
