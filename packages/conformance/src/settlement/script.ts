import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { errorOf, type Format, type Making, writeMaking } from "./making.ts";

/** A call of the gateway as a provider sees it. */
interface ProviderCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The format that the request asks for. */
  readonly format: Format;
  /** Resolves when the client has left the gateway. */
  readonly clientLeft: Promise<unknown>;
}

/** What a provider does with one call. */
export type Script = (call: ProviderCall) => void | Promise<void>;

/** Responds with success. */
export function makes(making: Making): Script {
  return ({ response, format }) => void begin(response, bodyOf(format)).end(writeMaking(format, making));
}

/** Responds like Qwen-Image, with links to images that this provider serves, and a report. */
export function linksTo(images: number): Script {
  return ({ request, response }) => {
    const content = Array.from({ length: images }, (_, index) => ({
      image: `http://${request.headers.host}/files/${index}.png`,
    }));
    const body = { output: { choices: [{ message: { content } }] }, usage: { image_count: images } };
    begin(response, "json").end(JSON.stringify(body));
  };
}

/** Responds with exactly these texts, as JSON or as events. Each text is a separate write. */
export function says(kind: BodyType, ...texts: readonly string[]): Script {
  return async ({ response }) => {
    begin(response, kind);
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
  return ({ response, format }) => {
    response.setHeader("content-encoding", coding);
    begin(response, bodyOf(format)).end(encode(writeMaking(format, making)));
  };
}

/** Responds with these texts and does not finish: the connection breaks, or no further byte comes. */
export function stopsAfter(how: "cut" | "hang", kind: BodyType, ...texts: readonly string[]): Script {
  return async ({ response }) => {
    begin(response, kind).flushHeaders();
    for (const text of texts) await write(response, text);
    if (how === "cut") response.destroy();
  };
}

/** Breaks the connection, or never responds. */
export const cuts: Script = ({ request }) => void request.socket.destroy();
export const hangs: Script = () => undefined;

/** Refuses in the family's error format. */
export function refuses(status: number, code: string): Script {
  return ({ response, format }) => {
    const body = format === "Qwen-Image" ? errorOf(code) : { error: errorOf(code) };
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
}

/** Sends the texts, waits until the client has disconnected, and then does the rest. */
export function onceClientLeft(rest: Script, ...texts: readonly string[]): Script {
  return async (call) => {
    const { response, format, clientLeft } = call;
    if (texts.length > 0) {
      begin(response, bodyOf(format)).flushHeaders();
      for (const text of texts) await write(response, text);
    }
    await clientLeft;
    await rest(call);
  };
}

/** Accepts a request as a job. */
export const accepts: Script = ({ response }) =>
  void begin(response, "json").end(JSON.stringify({ job_id: "job-1" }));

/** Accepts a request, but the id of its job does not arrive. */
export const loses: Script = says("json", "{}");

/** Says that a job has not ended. @param seconds how long the provider asks to wait */
export const waits = (seconds?: number): Script =>
  says("json", JSON.stringify({ status: "pending", wait: seconds }));

/** Says that a job has failed. */
export const ends = (kind: "content" | "rate" | "server", code: string): Script =>
  says("json", JSON.stringify({ status: "failed", kind, code }));

/** What a body contains. `file`: an image. */
type BodyType = "json" | "events" | "file";

const CONTENT_TYPES = { json: "application/json", events: "text/event-stream", file: "image/png" };

function bodyOf(format: Format): BodyType {
  return format === "events" ? "events" : "json";
}

function begin(response: ServerResponse, type: BodyType): ServerResponse {
  if (response.headersSent) return response;
  return response.writeHead(200, { "content-type": CONTENT_TYPES[type] });
}

function write(response: ServerResponse, text: string): Promise<void> {
  return new Promise((resolve) => {
    response.write(text, () => resolve());
  });
}
