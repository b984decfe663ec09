// A naive implementation of edits: the whole form is in memory, then converted to strings, then to JSON.
import type { IncomingMessage, ServerResponse } from "node:http";
import busboy from "busboy";
import { Agent, request } from "undici";
import { SERVICE_PREFIX, UPSTREAM_PREFIX } from "../payloads.ts";
import { relay } from "./relay.ts";
import { serve } from "./serve.ts";
import { readTargetOptions } from "./target-options.ts";

const { upstream } = readTargetOptions();
const dispatcher = new Agent();

serve((req, res) => {
  convert(req)
    .then((body) => send(body, res))
    .catch(() => res.destroy());
});

async function convert(req: IncomingMessage): Promise<string> {
  const fields: Record<string, string> = {};
  const files: Buffer[][] = [];
  await new Promise<void>((resolve, reject) => {
    const parser = busboy({ headers: req.headers });
    parser.on("field", (name, text) => {
      fields[name] = text;
    });
    parser.on("file", (_name, stream) => {
      const chunks: Buffer[] = [];
      files.push(chunks);
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    });
    parser.on("close", resolve);
    parser.on("error", reject);
    req.pipe(parser);
  });
  const image = files.map((chunks) => `data:image/png;base64,${Buffer.concat(chunks).toString("base64")}`);
  const model = UPSTREAM_PREFIX + (fields["model"] ?? "").slice(SERVICE_PREFIX.length);
  return JSON.stringify({ ...fields, model, image });
}

async function send(body: string, res: ServerResponse): Promise<void> {
  const response = await request(`${upstream}/api/v3/images/generations`, {
    method: "POST",
    dispatcher,
    headers: { "content-type": "application/json", authorization: "Bearer upstream-key" },
    body,
  });
  await relay(response, res);
}
