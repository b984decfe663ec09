import type { IncomingMessage } from "node:http";
import { PassThrough, type Readable } from "node:stream";
import busboy from "busboy";
import { type Dispatcher, request } from "undici";
import { SERVICE_PREFIX, UPSTREAM_PREFIX } from "../payloads.ts";

/** The address for edits. */
export interface EditUpstream {
  readonly upstream: string;
  readonly dispatcher: Dispatcher;
}

/**
 * Sends a form as JSON with data URLs while it arrives, and holds nearly nothing of it. A real gateway cannot do
 * this: it knows neither limits nor price before the form has ended, and could not send the request again.
 */
export async function streamEdit(
  req: IncomingMessage,
  { upstream, dispatcher }: EditUpstream,
): Promise<Dispatcher.ResponseData> {
  const body = new PassThrough({ highWaterMark: 256 * 1024 });
  convert(req, body).catch((error: unknown) => body.destroy(error instanceof Error ? error : undefined));
  return await request(`${upstream}/api/v3/images/generations`, {
    method: "POST",
    dispatcher,
    headers: { "content-type": "application/json", authorization: "Bearer upstream-key" },
    body,
  });
}

async function convert(req: IncomingMessage, out: PassThrough): Promise<void> {
  const parser = busboy({ headers: req.headers });
  const fields: Record<string, string> = {};
  let files = Promise.resolve();
  let count = 0;
  parser.on("field", (name, text) => {
    fields[name] = text;
  });
  parser.on("file", (_name, stream) => {
    const prefix = `${count === 0 ? '{"image":[' : ","}"data:image/png;base64,`;
    count += 1;
    files = files.then(() => writeFile(stream, prefix, out));
  });
  const ended = new Promise<void>((resolve, reject) => {
    parser.on("close", resolve);
    parser.on("error", reject);
    req.on("error", reject);
  });
  req.pipe(parser);
  await ended;
  await files;
  const model = UPSTREAM_PREFIX + (fields["model"] ?? "").slice(SERVICE_PREFIX.length);
  out.end(`],${JSON.stringify({ ...fields, model }).slice(1)}`);
}

/** Encodes as base64, three bytes at a time. The remaining bytes wait for the next chunk. */
async function writeFile(stream: Readable, prefix: string, out: PassThrough): Promise<void> {
  out.write(prefix);
  let rest = Buffer.alloc(0);
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const whole = bytes.length - (bytes.length % 3);
    rest = Buffer.from(bytes.subarray(whole));
    if (!out.write(bytes.toString("base64", 0, whole), "latin1")) await drained(out);
  }
  out.write(`${rest.toString("base64")}"`);
}

function drained(out: PassThrough): Promise<void> {
  return new Promise((resolve, reject) => {
    out.once("drain", resolve);
    out.once("close", () => reject(new Error("The upstream closed the connection.")));
  });
}
