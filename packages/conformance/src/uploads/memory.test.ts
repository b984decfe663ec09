import { spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { listen } from "../support/listen.js";

const PROGRAM = fileURLToPath(new URL("server-process.ts", import.meta.url));
const MIB = 1024 * 1024;
const UPLOADS = 10;
const KEPT_BYTES = 32 * MIB;

const IMAGE = Buffer.alloc(30 * MIB - 1, "calotype");
IMAGE.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

const field = (name: string, value: string): string =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const HEAD = `${field("model", "seedream-4-5-251128")}${field("prompt", "x")}--b\r\nContent-Disposition: form-data; name="image"; filename="a"\r\n\r\n`;
const TAIL = "\r\n--b--\r\n";

/** Starts a gateway in a separate process. Resolves to its port. */
async function startGateway(baseUrl: string): Promise<number> {
  const child = spawn(process.execPath, [PROGRAM, baseUrl, String(KEPT_BYTES)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  return Number(line);
}

const readMemory = async (port: number): Promise<number> =>
  Number(await (await fetch(`http://127.0.0.1:${port}/memory`)).text());

/** Sends the image in a form and returns the status of the response. */
async function upload(port: number): Promise<number | undefined> {
  const req = request({
    port,
    host: "127.0.0.1",
    path: "/v1/images/edits",
    method: "POST",
    headers: {
      authorization: "Bearer caller-key",
      "content-type": "multipart/form-data; boundary=b",
      "content-length": HEAD.length + IMAGE.length + TAIL.length,
    },
  });
  req.write(HEAD);
  req.write(IMAGE);
  req.end(TAIL);
  const [response] = await once(req, "response");
  response.resume();
  await once(response, "end");
  return response.statusCode;
}

it("ten parallel uploads of 30 MB need less memory than their size and reach the provider complete", async () => {
  const lengths: number[] = [];
  // Responds when all requests have arrived, so that the gateway holds all uploads at the same time.
  const all = Promise.withResolvers<void>();
  const provider = await listen((req, res) => {
    let length = 0;
    req.on("data", (chunk: Buffer) => (length += chunk.length));
    req.on("end", () => {
      lengths.push(length);
      if (lengths.length === UPLOADS) all.resolve();
      void all.promise.then(() => {
        res.setHeader("content-type", "application/json");
        return res.end(
          '{"created":1,"data":[{"url":"https://x.test/1.png"}],"usage":{"generated_images":1}}',
        );
      });
    });
  });
  onTestFinished(() => provider.close());
  const port = await startGateway(provider.url);
  const before = await readMemory(port);
  const statuses = await Promise.all(Array.from({ length: UPLOADS }, () => upload(port)));
  expect(new Set(statuses)).toEqual(new Set([200]));
  const around = JSON.stringify({
    model: "seedream-4-5-251128",
    prompt: "x",
    image: ["data:image/png;base64,"],
  });
  expect(new Set(lengths)).toEqual(new Set([around.length + Math.ceil(IMAGE.length / 3) * 4]));
  // The uploads have 300 MiB. They may use `KEPT_BYTES`. The rest is for chunks that wait for the garbage collector,
  // which runs late on a busy machine, and for the heap.
  expect((await readMemory(port)) - before).toBeLessThan(KEPT_BYTES + 128 * MIB);
});
