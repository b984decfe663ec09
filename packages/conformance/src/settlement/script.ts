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

/** Responds with success. */
export function makes(making: Making): Script {
  return ({ response, way }) => void begin(response, isStream(way)).end(writeMaking(way, making));
}

/** Responds with exactly these texts, as JSON or as events. Each text is a separate write. */
export function says(kind: "json" | "events", ...texts: readonly string[]): Script {
  return async ({ response }) => {
    begin(response, kind === "events");
    for (const text of texts) await write(response, text);
    response.end();
  };
}

/** Responds with these headers and texts. Each text is a separate write. */
export function saysAs(headers: OutgoingHttpHeaders, ...texts: readonly string[]): Script {
  return async ({ response }) => {
    response.writeHead(200, headers);
    for (const text of texts) await write(response, text);
    response.end();
  };
}

/** Responds with success in this content coding. */
export function makesCoded(coding: string, encode: (text: string) => Uint8Array, making: Making): Script {
  return ({ response, way }) => {
    response.setHeader("content-encoding", coding);
    begin(response, isStream(way)).end(encode(writeMaking(way, making)));
  };
}

/** Responds with these texts and does not finish: the connection breaks, or no further byte comes. */
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

/** Breaks the connection, or never responds. */
export const cuts: Script = ({ request }) => void request.socket.destroy();
export const hangs: Script = () => undefined;

/** Refuses in the family's error format. */
export function refuses(status: number, code: string): Script {
  return ({ response, way }) => {
    const body = way === "Qwen-Image" ? errorOf(code) : { error: errorOf(code) };
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
}

/** Sends the texts, waits until the client has disconnected, and then does the rest. */
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
