// Measures what a store of results costs: the gateway without a store, with a function that discards the images, and with
// files. Each is a process of its own; they take turns within each round. Prints the table of docs/stored-images.md:
// npm run bench:results
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startChild } from "./system/child.ts";
import { portOf } from "./system/port-of.ts";
import { readCpuMs, readPeakBytes, resetPeak } from "./system/process-cost.ts";

const TARGET = fileURLToPath(new URL("targets/calotype-results.ts", import.meta.url));
const STORES = ["none", "discard", "files"] as const;
const ROUNDS = 5;
const MIB = 1024 * 1024;

interface Work {
  readonly name: string;
  readonly imageBytes: number;
  /** Requests of each store in each round. */
  readonly requests: number;
  readonly key: "native" | "openai";
  readonly fields: object;
}

const BASE64 = { response_format: "b64_json" };
const WORKS: readonly Work[] = [
  { name: "JSON, link to 1 MB", imageBytes: 1e6, requests: 40, key: "native", fields: {} },
  { name: "JSON, base64 of 4 MB", imageBytes: 4e6, requests: 12, key: "native", fields: BASE64 },
  { name: "JSON, base64 of 30 MB", imageBytes: 30e6, requests: 3, key: "native", fields: BASE64 },
  {
    name: "stream in OpenAI's format, base64 of 4 MB",
    imageBytes: 4e6,
    requests: 12,
    key: "openai",
    fields: { ...BASE64, stream: true },
  },
];

const images = new Map(WORKS.map(({ imageBytes }) => [imageBytes, createImage(imageBytes)]));

function createImage(length: number): { readonly bytes: Buffer; readonly base64: string } {
  const bytes = Buffer.alloc(length, "calotype");
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return { bytes, base64: bytes.toString("base64") };
}

const USAGE = { generated_images: 1, output_tokens: 1, total_tokens: 1 };
const EVENT = "image_generation.partial_succeeded";

const event = (name: string, data: object): string =>
  `event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`;

/** The provider. The prompt is the size of the image. */
function respond(url: string, body: string, response: ServerResponse): void {
  const size = Number(/^\/image-(\d+)/.exec(url)?.[1] ?? /"prompt":"(\d+)"/.exec(body)?.[1]);
  const image = images.get(size);
  if (url.startsWith("/image-")) return void response.end(image?.bytes);
  const isBase64 = body.includes('"b64_json"');
  const item = isBase64 ? { b64_json: image?.base64 } : { url: `${upstream}/image-${size}` };
  if (!body.includes('"stream":true')) {
    response.setHeader("content-type", "application/json");
    return void response.end(JSON.stringify({ created: 1, data: [item], usage: USAGE }));
  }
  response.setHeader("content-type", "text/event-stream");
  response.end(
    `${event(EVENT, item)}${event("image_generation.completed", { usage: USAGE })}data: [DONE]\n\n`,
  );
}

const provider = createServer((incoming, response) => {
  let body = "";
  incoming.on("data", (chunk: Buffer) => (body += chunk.toString()));
  incoming.on("end", () => respond(incoming.url ?? "", body, response));
});
await once(provider.listen(0, "127.0.0.1"), "listening");
const upstream = `http://127.0.0.1:${portOf(provider)}`;

/** Sends one request, reads its response, and returns the milliseconds until its first byte. */
async function send(port: number, { key, imageBytes, fields }: Work): Promise<number> {
  const began = performance.now();
  const outgoing = request({
    port,
    host: "127.0.0.1",
    method: "POST",
    path: "/v1/images/generations",
    headers: { authorization: `Bearer ${key}-key`, "content-type": "application/json" },
  });
  outgoing.end(JSON.stringify({ model: "seedream-4-5-251128", prompt: String(imageBytes), ...fields }));
  const [response] = await once(outgoing, "response");
  let first = 0;
  for await (const chunk of response) if (first === 0 && chunk.length > 0) first = performance.now() - began;
  if (response.statusCode !== 200) throw new Error(`The gateway responded with ${response.statusCode}.`);
  return first;
}

interface Sample {
  readonly cpuMs: number;
  readonly peakMib: number;
  readonly firstMs: number;
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const directory = mkdtempSync(join(tmpdir(), "calotype-bench-results-"));
const children = STORES.map((store) =>
  startChild([process.execPath, TARGET], {
    env: { UPSTREAM: upstream, RESULTS: store, DIRECTORY: join(directory, store) },
  }),
);

async function measure(index: number, port: number, work: Work): Promise<Sample> {
  const pid = children[index]?.pid ?? 0;
  resetPeak(pid);
  const before = readCpuMs(pid);
  const firsts: number[] = [];
  for (let sent = 0; sent < work.requests; sent++) firsts.push(await send(port, work));
  return {
    cpuMs: (readCpuMs(pid) - before) / work.requests,
    peakMib: readPeakBytes(pid) / MIB,
    firstMs: median(firsts),
  };
}

try {
  const ports = await Promise.all(children.map((child) => child.listening()));
  const cells = (samples: readonly (readonly Sample[])[], read: (sample: Sample) => number): string[] => {
    const [none = 1, ...others] = samples.map((each) => median(each.map(read)));
    return [
      none.toFixed(1),
      ...others.map((value) => `${value.toFixed(1)} (${(value / none).toFixed(2)} ×)`),
    ];
  };
  say(`| Response | Measured | No store | A function that discards | Files |\n${"| --- ".repeat(5)}|`);
  for (const work of WORKS) {
    const samples: Sample[][] = STORES.map(() => []);
    for (let round = -1; round < ROUNDS; round++) {
      for (const [index, port] of ports.entries()) {
        const sample = await measure(index, port, work);
        // The first round warms up.
        if (round >= 0) samples[index]?.push(sample);
      }
    }
    const rows: readonly (readonly [string, (sample: Sample) => number])[] = [
      ["CPU per request, ms", (sample) => sample.cpuMs],
      ["peak memory, MiB", (sample) => sample.peakMib],
      ["first byte, ms", (sample) => sample.firstMs],
    ];
    for (const [name, read] of rows) say(`| ${[work.name, name, ...cells(samples, read)].join(" | ")} |`);
  }
} finally {
  await Promise.all(children.map((child) => child.stop()));
  provider.close();
  provider.closeAllConnections();
  rmSync(directory, { recursive: true, force: true });
}
