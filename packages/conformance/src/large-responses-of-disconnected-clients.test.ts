import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import v8 from "node:v8";
import vm from "node:vm";
import { createGateway, type UsageRecord } from "@calotype/core";
import { toNodeHandler } from "@calotype/node";
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { open, responseTo, send } from "./support/http-client.js";
import { CALLER_HEADERS, GENERATIONS, jsonCall, SEEDREAM_BODY } from "./support/image-calls.js";
import { type InTheMiddle, inFrontOf, startLargeProvider } from "./support/large-provider.js";
import { CALLER_KEY } from "./support/test-gateway.js";

const CLIENTS = 50;
const MIB = 1024 * 1024;
const CALL = { path: GENERATIONS, headers: CALLER_HEADERS };
const CHARGED = { status: 200, images: 2, charge: "0.06" };

/** 2 MB, and 8 MB. */
const SMALLER = ["A", "B"].map((letter) => letter.repeat(1_000_000));
const LARGER = SMALLER.map((image) => image.repeat(4));

v8.setFlagsFromString("--expose-gc");
const collectGarbage: () => void = vm.runInNewContext("gc");

/** Warnings and errors that must not occur. */
const complaints: unknown[] = [];
const complain = (complaint: unknown): void => void complaints.push(complaint);

beforeEach(() => {
  process.on("unhandledRejection", complain).on("warning", complain);
});

afterEach(() => {
  process.off("unhandledRejection", complain).off("warning", complain);
  complaints.length = 0;
});

/** A gateway on a socket with one slot for each client. */
async function serve(inTheMiddle: InTheMiddle, { images = SMALLER, stallMs = 0 } = {}) {
  const provider = await startLargeProvider(inTheMiddle, images);
  const records: UsageRecord[] = [];
  const gateway = createGateway({
    models: {},
    channels: [],
    ...inFrontOf(provider),
    callers: [{ id: "tester", key: CALLER_KEY }],
    limits: { concurrent: CLIENTS },
    maxBytesInFlight: 16 * MIB,
    onUsage: (record) => void records.push(record),
  });
  const server = createServer(toNodeHandler(gateway));
  // The host's own limit for an idle connection.
  server.timeout = stallMs;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await gateway.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, records, gateway, text: provider.text, asked: provider.asked };
}

type Served = Awaited<ReturnType<typeof serve>>;

/** Sends a request and disconnects when the test says so. */
async function ask(
  url: string,
  leaveAt: (response: Promise<IncomingMessage>) => Promise<unknown>,
): Promise<void> {
  const outgoing = open(url, CALL).end(JSON.stringify(SEEDREAM_BODY));
  const response = responseTo(outgoing);
  response.then((incoming) => incoming.on("error", () => {})).catch(() => {});
  await leaveAt(response);
  outgoing.destroy();
}

const atOnce = (run: () => Promise<unknown>, clients = CLIENTS) =>
  Promise.all(Array.from({ length: clients }, run));

/**
 * Checks that all requests are charged and that their slots and bytes are free again. No promise was rejected without
 * a handler, and no event emitter warned about its listeners.
 */
async function expectAllSettled({ url, gateway, records }: Served, clients = CLIENTS): Promise<void> {
  await vi.waitFor(() => expect(records).toHaveLength(clients));
  for (const record of records) expect(record).toMatchObject(CHARGED);
  expect(await gateway.usage.balance("tester")).toMatchObject({ held: "0" });
  const whole = {
    ...CALL,
    headers: { ...CALLER_HEADERS, "content-length": String(16 * MIB) },
    body: " ".repeat(16 * MIB),
  };
  // Not JSON, and as long as the limit of bytes in flight.
  await vi.waitFor(async () => expect((await send(url, whole)).status).toBe(400));
  const next = await atOnce(async () => (await send(url, { ...jsonCall({}), path: GENERATIONS })).status);
  expect(new Set(next)).toEqual(new Set([400]));
  expect(complaints).toEqual([]);
}

/** Waits until the provider has the request, because a request that was not sent costs nothing. */
const untilAllAsked = ({ asked }: Served): Promise<void> =>
  vi.waitFor(() => expect(asked()).toBe(CLIENTS), { timeout: 10_000, interval: 10 });

it.each<[string, InTheMiddle, (response: Promise<IncomingMessage>, served: Served) => Promise<unknown>]>([
  ["before the head", 300, async (_response, served) => untilAllAsked(served)],
  ["after the head", 300, (response) => response],
  ["in the middle", 300, async (response) => once(await response, "data")],
  [
    "at the last byte",
    "goes on",
    async (response, { text }) => readBytes(await response, Buffer.byteLength(text)),
  ],
])(
  "50 clients that leave at once %s are all charged, and leave nothing behind",
  async (_when, inTheMiddle, leaveAt) => {
    const served = await serve(inTheMiddle);
    await atOnce(() => ask(served.url, (response) => leaveAt(response, served)));
    await expectAllSettled(served);
    expect(served.records).toHaveLength(CLIENTS);
  },
);

/** Resolves when this number of bytes has arrived. */
async function readBytes(incoming: IncomingMessage, bytes: number): Promise<void> {
  let received = 0;
  await new Promise<void>((resolve) => {
    incoming.on("data", (chunk: Buffer) => {
      received += chunk.length;
      if (received >= bytes) resolve();
    });
  });
}

it("clients that stop reading are disconnected and charged", async () => {
  const served = await serve("goes on", { images: LARGER, stallMs: 1_500 });
  await atOnce(async () => {
    const outgoing = open(served.url, CALL).end(JSON.stringify(SEEDREAM_BODY));
    outgoing.on("error", () => {});
    const incoming = await responseTo(outgoing);
    incoming.on("error", () => {}).pause();
    await vi.waitFor(() => expect(served.records.length).toBeGreaterThan(0));
    outgoing.destroy();
  }, 5);
  await expectAllSettled(served, 5);
  expect(served.records).toHaveLength(5);
});

/** The memory in use, in the heap and outside it. */
function bytesInUse(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

it("200 clients that disconnect from responses of 8 MB need no memory while the rest is read and afterwards", async () => {
  const served = await serve(100, { images: LARGER });
  const leave = () => ask(served.url, async (response) => once(await response, "data"));
  await atOnce(leave, 10);
  await vi.waitFor(() => expect(served.records).toHaveLength(10));
  const before = bytesInUse();
  let most = 0;
  for (let clients = 10; clients < 210; clients += 40) {
    await atOnce(leave, 40);
    most = Math.max(most, bytesInUse() - before);
    await vi.waitFor(() => expect(served.records).toHaveLength(clients + 40));
  }
  // 40 responses of which 4 MB had not arrived when their clients disconnected: 160 MB. This process also contains
  // the clients and the provider, with the bytes that they have not read from their sockets.
  expect(most).toBeLessThan(96 * MIB);
  await vi.waitFor(() => expect(bytesInUse() - before).toBeLessThan(8 * MIB));
});
