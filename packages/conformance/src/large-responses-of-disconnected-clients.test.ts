import { once } from "node:events";
import v8 from "node:v8";
import vm from "node:vm";
import { createGateway, type UsageRecord } from "@calotype/core";
import { toNodeHandler } from "@calotype/node";
import { expect, it, onTestFinished, vi } from "vitest";
import { open, responseTo } from "./support/http-client.js";
import { CALLER_HEADERS, GENERATIONS, SEEDREAM_BODY } from "./support/image-calls.js";
import { inFrontOf, startLargeProvider } from "./support/large-provider.js";
import { listen } from "./support/listen.js";
import { CALLER_KEY } from "./support/test-gateway.js";

const MIB = 1024 * 1024;

v8.setFlagsFromString("--expose-gc");
const collectGarbage: () => void = vm.runInNewContext("gc");

/** A gateway on a socket, whose provider pauses in the middle of its response. */
async function serve() {
  const provider = await startLargeProvider(100);
  const records: UsageRecord[] = [];
  const gateway = createGateway({
    models: {},
    channels: [],
    ...inFrontOf(provider),
    callers: [{ id: "tester", key: CALLER_KEY }],
    maxBytesInFlight: 16 * MIB,
    onUsage: (record) => void records.push(record),
  });
  const { url, close } = await listen(toNodeHandler(gateway));
  onTestFinished(async () => {
    await close();
    await gateway.close();
  });
  return { url, records };
}

/** Sends a request, and disconnects when the first bytes of its response arrive. */
async function askAndLeave(url: string): Promise<void> {
  const outgoing = open(url, { path: GENERATIONS, headers: CALLER_HEADERS });
  outgoing.end(JSON.stringify(SEEDREAM_BODY));
  const incoming = await responseTo(outgoing);
  incoming.on("error", () => {});
  await once(incoming, "data");
  outgoing.destroy();
}

/** The memory in use, in the heap and outside it. */
function bytesInUse(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

it("200 clients that disconnect from responses of 8 MB need no memory while the rest is read and afterwards", async () => {
  const { url, records } = await serve();
  const leaveAtOnce = (clients: number) =>
    Promise.all(Array.from({ length: clients }, () => askAndLeave(url)));
  await leaveAtOnce(10);
  await vi.waitFor(() => expect(records).toHaveLength(10));
  const before = bytesInUse();
  let most = 0;
  for (let clients = 10; clients < 210; clients += 40) {
    await leaveAtOnce(40);
    most = Math.max(most, bytesInUse() - before);
    await vi.waitFor(() => expect(records).toHaveLength(clients + 40));
  }
  // 40 responses of which 4 MB had not arrived when their clients disconnected: 160 MB. This process also contains
  // the clients and the provider, with the bytes that they have not read from their sockets.
  expect(most).toBeLessThan(96 * MIB);
  await vi.waitFor(() => expect(bytesInUse() - before).toBeLessThan(8 * MIB));
  for (const record of records) expect(record).toMatchObject({ status: 200, images: 2, charge: "0.06" });
});
