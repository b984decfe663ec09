import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { errorOf, type Making, writeMaking } from "./making.ts";
import { isStream, type Way } from "./ways.ts";

/** A call of the gateway as a provider sees it. */
interface ProviderCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly way: Way;
  /** Resolves when the client has left the gateway. */
  readonly clientLeft: Promise<unknown>;
}

/** What a provider does with one call. */
export type Script = (call: ProviderCall) => void | Promise<void>;

/** Answers with success. */
export function makes(making: Making): Script {
  return ({ response, way }) => void begin(response, isStream(way)).end(writeMaking(way, making));
}

/** Answers with these texts as they are, as JSON or as events; each goes out by itself. */
export function says(kind: "json" | "events", ...texts: readonly string[]): Script {
  return async ({ response }) => {
    begin(response, kind === "events");
    for (const text of texts) await write(response, text);
    response.end();
  };
}

/** Answers with these headers and texts; each text goes out by itself. */
export function saysAs(headers: OutgoingHttpHeaders, ...texts: readonly string[]): Script {
  return async ({ response }) => {
    response.writeHead(200, headers);
    for (const text of texts) await write(response, text);
    response.end();
  };
}

/** Answers with success in this content coding. */
export function makesCoded(coding: string, encode: (text: string) => Uint8Array, making: Making): Script {
  return ({ response, way }) => {
    response.setHeader("content-encoding", coding);
    begin(response, isStream(way)).end(encode(writeMaking(way, making)));
  };
}

/** The same, and does not end: the connection breaks, or nothing comes any more. */
export function stopsAfter(
  how: "cut" | "hang",
  kind: "json" | "events",
  ...texts: readonly string[]
): Script {
  return async ({ response }) => {
    begin(response, kind === "events").flushHeaders();
    for (const text of texts) await write(response, text);
    if (how === "cut") response.destroy();
  };
}

/** Breaks the connection, or says nothing at all. */
export const cuts: Script = ({ request }) => void request.socket.destroy();
export const hangs: Script = () => undefined;

/** Refuses in the family's words. */
export function refuses(status: number, code: string): Script {
  return ({ response, way }) => {
    const body = way === "Qwen-Image" ? errorOf(code) : { error: errorOf(code) };
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
}

/** Does the rest only when the client has left, after these texts if there are any. */
export function onceClientLeft(rest: Script, ...texts: readonly string[]): Script {
  return async (call) => {
    const { response, way, clientLeft } = call;
    if (texts.length > 0) {
      begin(response, isStream(way)).flushHeaders();
      for (const text of texts) await write(response, text);
    }
    await clientLeft;
    await rest(call);
  };
}

function begin(response: ServerResponse, isEvents: boolean): ServerResponse {
  if (response.headersSent) return response;
  return response.writeHead(200, { "content-type": isEvents ? "text/event-stream" : "application/json" });
}

function write(response: ServerResponse, text: string): Promise<void> {
  return new Promise((resolve) => {
    response.write(text, () => resolve());
  });
}
