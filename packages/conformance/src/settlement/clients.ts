import { once } from "node:events";
import type { ClientRequest, IncomingMessage } from "node:http";
import { type Call, open, responseTo } from "../support/http-client.ts";
import { readEvents } from "../support/read-events.ts";
import type { Repeat, Sight } from "./row.ts";

/** When a client leaves that does not read its answer to the end. */
export type Leaving = "before the answer" | "after the head" | "in mid-stream" | "after the answer";

/** Sends a call and reads the answer to its end, whichever end that is. */
export async function readToEnd(origin: string, call: Call): Promise<Sight> {
  const { outgoing, answer } = send(origin, call);
  const sight = await toSight(await answer);
  outgoing.destroy();
  return sight;
}

/** Sends a call again that has an idempotency key, and tells whether it was run or refused or answered from the store. */
export async function repeatCall(origin: string, call: Call): Promise<Repeat> {
  for (;;) {
    const { outgoing, answer } = send(origin, call);
    const incoming = await answer;
    const { text } = await readText(incoming);
    outgoing.destroy();
    const code = incoming.statusCode === 409 ? codeOf(JSON.parse(text)) : undefined;
    if (code === "idempotency_in_progress") continue;
    const isStored = code === "idempotency_not_replayable" || "idempotent-replayed" in incoming.headers;
    return isStored ? "stored" : "runs";
  }
}

/**
 * Sends a call and drops the connection at that moment.
 *
 * @param providerCalled resolves when the provider has the request
 */
export async function leave(
  origin: string,
  call: Call,
  when: Exclude<Leaving, "after the answer">,
  providerCalled: Promise<unknown>,
): Promise<void> {
  const { outgoing, answer } = send(origin, call);
  if (when === "before the answer") {
    answer.catch(() => undefined);
    await providerCalled;
  } else {
    const incoming = await answer;
    incoming.on("error", () => undefined);
    if (when === "in mid-stream") await once(incoming, "data");
  }
  outgoing.destroy();
}

function send(origin: string, call: Call): { outgoing: ClientRequest; answer: Promise<IncomingMessage> } {
  const outgoing = open(origin, call);
  const answer = responseTo(outgoing);
  outgoing.end(call.body);
  return { outgoing, answer };
}

async function toSight(incoming: IncomingMessage): Promise<Sight> {
  const { text, brokeOff } = await readText(incoming);
  const contentType = incoming.headers["content-type"];
  return sightOf({ status: incoming.statusCode ?? 0, contentType, text, brokeOff });
}

/** A response as it was read: whole, or as far as it came. */
export interface ReadResponse {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly text: string;
  /** True if the connection ended before the response did. */
  readonly brokeOff: boolean;
}

/** What a client sees in a response. */
export function sightOf({ status, contentType, text, brokeOff }: ReadResponse): Sight {
  const isEvents = contentType?.startsWith("text/event-stream") === true;
  const sight = isEvents ? sightOfEvents(text) : brokeOff ? { images: 0 } : sightOfJson(text);
  return { status, ...sight, ...(brokeOff && { ending: "breaks off" }) };
}

async function readText(incoming: IncomingMessage): Promise<{ text: string; brokeOff: boolean }> {
  let text = "";
  try {
    for await (const chunk of incoming.setEncoding("utf8")) text += String(chunk);
    return { text, brokeOff: false };
  } catch {
    return { text, brokeOff: true };
  }
}

function sightOfEvents(text: string): Omit<Sight, "status"> {
  const events = readEvents(text);
  const images = events.filter(({ event }) => event === "image_generation.partial_succeeded").length;
  const failure = events.find(({ event }) => event === "error");
  return {
    images,
    ...(failure !== undefined && { code: codeOf(JSON.parse(failure.data)), ending: "error event" }),
  };
}

function sightOfJson(text: string): Omit<Sight, "status"> {
  const body: unknown = JSON.parse(text);
  const data = fieldOf(body, "data");
  if (!Array.isArray(data)) return { code: codeOf(body) };
  return { images: data.filter(isImage).length };
}

function isImage(item: unknown): boolean {
  return [fieldOf(item, "url"), fieldOf(item, "b64_json")].some((value) => typeof value === "string");
}

function codeOf(body: unknown): string {
  return String(fieldOf(fieldOf(body, "error"), "code"));
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
