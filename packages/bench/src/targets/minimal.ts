// A minimal gateway, written by hand: it checks the key, parses JSON, maps the model and reads the usage, and no
// more.
import type { IncomingMessage, ServerResponse } from "node:http";
import { Agent, type Dispatcher, request } from "undici";
import { SERVICE_PREFIX, UPSTREAM_PREFIX } from "../payloads.ts";
import { relay } from "./relay.ts";
import { serve } from "./serve.ts";
import { streamEdit } from "./stream-edit.ts";
import { readTargetOptions } from "./target-options.ts";

const { upstream, callers } = readTargetOptions();
const dispatcher = new Agent();
const keys = new Set(Array.from({ length: callers }, (_, index) => `Bearer sk-bench-${index}`));
const SMALL_BYTES = 64 * 1024;
const TAIL_BYTES = 1024;
/** The usage by caller, as a minimal ledger. */
const tokens = new Map<string, number>();

serve((req, res) => {
  const key = req.headers.authorization ?? "";
  if (!keys.has(key)) {
    req.resume();
    res.writeHead(401).end();
    return;
  }
  const responded =
    req.url === "/v1/images/edits" ? streamEdit(req, { upstream, dispatcher }) : generate(req);
  responded
    .then((response) => send(response, res, key))
    .catch(() => {
      if (res.headersSent) res.destroy();
      else res.writeHead(502).end();
    });
});

async function generate(req: IncomingMessage): Promise<Dispatcher.ResponseData> {
  const body: { model: string } = JSON.parse(await collect(req));
  const model = UPSTREAM_PREFIX + body.model.slice(SERVICE_PREFIX.length);
  return await request(`${upstream}/api/v3/images/generations`, {
    method: "POST",
    dispatcher,
    headers: { "content-type": "application/json", authorization: "Bearer upstream-key" },
    body: JSON.stringify({ ...body, model }),
  });
}

async function send(response: Dispatcher.ResponseData, res: ServerResponse, key: string): Promise<void> {
  const length = Number(response.headers["content-length"] ?? Number.POSITIVE_INFINITY);
  if (length <= SMALL_BYTES) {
    const text = await response.body.text();
    const { usage }: { usage?: { total_tokens?: number } } = JSON.parse(text);
    count(key, usage?.total_tokens ?? 0);
    res
      .writeHead(response.statusCode, { "content-type": "application/json", "content-length": length })
      .end(text);
    return;
  }
  // The usage is at the end of large responses and of streams.
  let tail = Buffer.alloc(0);
  await relay(response, res, (chunk) => {
    tail = Buffer.from(
      chunk.length < TAIL_BYTES
        ? Buffer.concat([tail, chunk]).subarray(-TAIL_BYTES)
        : chunk.subarray(-TAIL_BYTES),
    );
  });
  count(key, Number(/"total_tokens":(\d+)/.exec(tail.toString("latin1"))?.[1] ?? 0));
}

function count(key: string, more: number): void {
  tokens.set(key, (tokens.get(key) ?? 0) + more);
}

function collect(req: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => resolve(Buffer.concat(chunks).toString()));
    req.on("error", reject);
  });
}
