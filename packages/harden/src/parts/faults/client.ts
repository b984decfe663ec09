import { once } from "node:events";
import type { ClientRequest, IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { sightOf } from "@calotype/conformance/settlement/clients";
import { type Call, open, responseTo } from "@calotype/conformance/support/http-client";
import type { Gateway } from "@calotype/core";
import type { ClientFault } from "./cells.ts";
import type { MountedGateway } from "./hosts.ts";

/** The response as a client saw it: `200`, or status, code and ending in one line, and the number of images. */
export interface SeenResponse {
  readonly text: string;
  readonly images: number;
}

/** A call whose body is bytes. */
export interface ClientCall extends Call {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface Behaviour {
  /** Default: the client sends the whole request and reads the whole response. */
  readonly fault: ClientFault | undefined;
  /** Resolves when the provider has the request. */
  readonly providerCalled: Promise<void>;
  /** Ends a client that does not read. */
  readonly over: AbortSignal;
}

/** Sends a call, and disconnects or reads as the fault says. `undefined`: the client disconnected. */
export function sendCall(
  gateway: Gateway,
  { url, headers }: MountedGateway,
  sent: ClientCall & Behaviour,
): Promise<SeenResponse | undefined> {
  const call = { ...sent, headers: { ...sent.headers, ...headers } };
  return url === undefined ? sendByFetch(gateway, call) : sendBySocket(url, call);
}

const PAUSE_MS = 100;
/** The time between two pieces that a slow client reads. */
const READ_MS = 2;
/** The number of pieces that a slow client reads slowly. It reads the rest at once, or a cell would take minutes. */
const SLOW_PIECES = 40;

async function sendBySocket(origin: string, call: ClientCall & Behaviour): Promise<SeenResponse | undefined> {
  const outgoing = open(origin, withLength(call));
  // The error also appears in the response, if the client waits for it.
  outgoing.on("error", () => undefined);
  const responded = responseTo(outgoing);
  responded.catch(() => undefined);
  await upload(outgoing, call);
  if (call.fault === "client leaves in its upload") return leave(outgoing);
  if (call.fault === "client leaves while it waits") {
    await Promise.race([call.providerCalled, responded]);
    return leave(outgoing);
  }
  const incoming = await responded.catch(() => undefined);
  if (incoming === undefined) return { text: "no response", images: 0 };
  if (call.fault === "client does not read") {
    incoming.on("error", () => undefined);
    call.over.addEventListener("abort", () => leave(outgoing));
    return undefined;
  }
  if (call.fault === "client leaves in the response") {
    incoming.on("error", () => undefined);
    await once(incoming, "data");
    return leave(outgoing);
  }
  const seen = await readSocket(incoming, call.fault === "client reads slowly");
  outgoing.destroy();
  return seen;
}

function withLength({ headers, body, ...call }: ClientCall): Call {
  return { ...call, headers: { ...headers, "content-length": String(body.length) } };
}

async function upload(outgoing: ClientRequest, { fault, body }: ClientCall & Behaviour): Promise<void> {
  const half = body.length >> 1;
  if (fault !== "client leaves in its upload" && fault !== "client pauses in its upload") {
    outgoing.end(body);
    return;
  }
  outgoing.write(body.subarray(0, half));
  await sleep(PAUSE_MS);
  if (fault === "client pauses in its upload") outgoing.end(body.subarray(half));
}

function leave(outgoing: ClientRequest): undefined {
  outgoing.destroy();
}

async function readSocket(incoming: IncomingMessage, isSlow: boolean): Promise<SeenResponse> {
  const { "content-type": contentType } = incoming.headers;
  return toSeen(incoming.statusCode ?? 0, contentType, await readText(incoming, isSlow));
}

interface ReadText {
  readonly text: string;
  readonly brokeOff: boolean;
}

async function readText(chunks: AsyncIterable<Uint8Array>, isSlow: boolean): Promise<ReadText> {
  const decoder = new TextDecoder();
  let text = "";
  let pieces = 0;
  try {
    for await (const chunk of chunks) {
      text += decoder.decode(chunk, { stream: true });
      if (isSlow && pieces++ < SLOW_PIECES) await sleep(READ_MS);
    }
    return { text, brokeOff: false };
  } catch {
    return { text, brokeOff: true };
  }
}

function toSeen(status: number, contentType: string | undefined, read: ReadText): SeenResponse {
  const { code, ending, images = 0 } = toSight(status, contentType, read);
  return { text: [status, code, ending].filter((word) => word !== undefined).join(" "), images };
}

function toSight(
  status: number,
  contentType: string | undefined,
  read: ReadText,
): ReturnType<typeof sightOf> {
  try {
    return sightOf({ status, contentType, ...read });
  } catch {
    return { status, code: `unreadable: ${read.text.slice(0, 80)}` };
  }
}

async function sendByFetch(
  gateway: Gateway,
  call: ClientCall & Behaviour,
): Promise<SeenResponse | undefined> {
  const { fault } = call;
  const leaving = new AbortController();
  const responded = gateway.fetch(toRequest(call, leaving));
  if (fault === "client leaves while it waits") {
    await Promise.race([call.providerCalled, responded]);
    leaving.abort();
    // A host drops the response of a client that left.
    await (await responded).body?.cancel();
    return undefined;
  }
  const response = await responded;
  if (fault === "client leaves in its upload") return undefined;
  if (fault === "client does not read") {
    call.over.addEventListener("abort", () => void response.body?.cancel().catch(() => undefined));
    return undefined;
  }
  if (fault === "client leaves in the response") {
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    return undefined;
  }
  const type = response.headers.get("content-type") ?? undefined;
  const read = await readText(response.body ?? new ReadableStream(), fault === "client reads slowly");
  return toSeen(response.status, type, read);
}

function toRequest(
  { path, headers, body, fault }: ClientCall & Behaviour,
  leaving: AbortController,
): Request {
  const half = body.length >> 1;
  async function* pieces(): AsyncIterable<Uint8Array> {
    yield body.subarray(0, half);
    if (fault === "client pauses in its upload" || fault === "client leaves in its upload")
      await sleep(PAUSE_MS);
    if (fault === "client leaves in its upload") {
      leaving.abort();
      throw new Error("The client left.");
    }
    yield body.subarray(half);
  }
  return new Request(`http://gateway.test${path}`, {
    method: "POST",
    headers,
    body: ReadableStream.from(pieces()),
    duplex: "half",
    signal: leaving.signal,
  });
}
