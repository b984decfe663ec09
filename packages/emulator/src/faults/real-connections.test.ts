import { request as httpRequest } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { createEmulator, type Emulator } from "../emulator.js";
import type { EmulatorServer } from "../server.js";
import { arkInit, readBody } from "../test-support/read-body.js";
import type { Fault } from "./fault.js";

const servers: EmulatorServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function start(fault: Fault, emulator: Emulator = createEmulator({ images: "tiny" })) {
  emulator.faults.add({ ...fault, times: 1 });
  const server = await emulator.listen();
  servers.push(server);
  return `${server.arkBaseUrl}/images/generations`;
}

const stream = { stream: true, sequential_image_generation: "auto", prompt: "2 images" };

/** How the socket ended, below anything that `fetch` makes of it. */
function endOfSocket(url: string): Promise<{ read: string; code: string | undefined }> {
  const { headers, body, method } = arkInit(stream);
  return new Promise((resolve) => {
    let read = "";
    const fail = (error: NodeJS.ErrnoException) => resolve({ read, code: error.code });
    const sent = httpRequest(
      url,
      { method, headers: Object.fromEntries(new Headers(headers)) },
      (incoming) => {
        incoming.on("data", (chunk: Buffer) => (read += chunk.toString()));
        incoming.on("error", fail);
        incoming.on("end", () => resolve({ read, code: undefined }));
      },
    );
    sent.on("error", fail).end(body);
  });
}

describe("over a real connection", () => {
  it("a cut is a reset after exactly the bytes that it allows", async () => {
    const { read, code } = await endOfSocket(await start({ body: { cutAfterBytes: 300 } }));
    expect(read).toHaveLength(300);
    expect(code).toBe("ECONNRESET");
  });

  it("a cut after an event leaves the event whole", async () => {
    const { read, code } = await endOfSocket(await start({ stream: { cutAfterEvents: 1 } }));
    expect(read).toMatch(/^event: image_generation\.partial_succeeded\ndata: \{.*\}\n\n$/);
    expect(code).toBe("ECONNRESET");
  });

  it("hanging up is a reset without a byte", async () => {
    expect(await endOfSocket(await start({ hangUp: true }))).toEqual({ read: "", code: "ECONNRESET" });
  });

  it("fetch sees headers, the bytes so far, and an error", async () => {
    const response = await fetch(await start({ body: { cutAfterBytes: 20 } }), arkInit());
    expect(response.status).toBe(200);
    const { text, error } = await readBody(response);
    expect(text).toHaveLength(20);
    expect(error).toMatchObject({ name: "TypeError", message: "terminated", cause: { code: "ECONNRESET" } });
  });

  it("megabytes arrive before the cut", async () => {
    const url = await start({ body: { cutAfterBytes: 400_000 } }, createEmulator());
    const batch = { ...stream, prompt: "5 images", response_format: "b64_json" };
    const { text, error } = await readBody(await fetch(url, arkInit(batch)));
    expect(text).toHaveLength(400_000);
    expect(error).toMatchObject({ cause: { code: "ECONNRESET" } });
  });

  it("one byte at a time arrives in many pieces, the same bytes in the end", async () => {
    const { text, chunks, error } = await readBody(
      await fetch(await start({ body: { chunkBytes: 1 } }), arkInit()),
    );
    expect(JSON.parse(text)).toHaveProperty("data");
    expect(chunks.length).toBeGreaterThan(text.length / 4);
    expect(error).toBeUndefined();
  });

  it("a trickle keeps its pace, the headers come at once", async () => {
    const fault = { body: { delayMs: 300, chunkBytes: 120, pauseMs: 20 } };
    const { chunks, times } = await readBody(await fetch(await start(fault), arkInit()));
    expect(times[0]).toBeGreaterThan(150);
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan((chunks.length - 1) * 18);
  });

  it("the emulator goes on after clients and connections that broke", async () => {
    const emulator = createEmulator({ images: "tiny" });
    const url = await start({ body: { cutAfterBytes: 0 } }, emulator);
    expect((await readBody(await fetch(url, arkInit()))).error).toBeDefined();
    emulator.faults.add({ body: { chunkBytes: 1, pauseMs: 60_000 }, times: 1 });
    const slow = await fetch(url, { ...arkInit(), signal: AbortSignal.timeout(50) });
    expect((await readBody(slow)).error).toMatchObject({ name: "TimeoutError" });
    expect((await fetch(url, arkInit())).status).toBe(200);
  });
});
