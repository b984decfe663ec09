import { once } from "node:events";
import { request } from "node:http";
import { createConnection } from "node:net";
import { json } from "node:stream/consumers";
import { expect, it, onTestFinished, vi } from "vitest";
import { jsonCall, SEEDREAM_BODY } from "../support/image-calls.js";
import { type ServerProcess, spawnServer } from "../support/spawn-server.js";
import { useProviders } from "../support/use-providers.js";
import type { ClosingPlan } from "./closing-server.js";

const providers = useProviders({ images: "tiny" });

async function start(plan: Partial<ClosingPlan> = {}): Promise<ServerProcess> {
  const server = spawnServer<ClosingPlan>(new URL("closing-server.ts", import.meta.url));
  onTestFinished(() => server.kill());
  return server.start({ arkBaseUrl: providers().server.arkBaseUrl, ...plan });
}

/** A call over a keep-alive connection of Node's agent. */
async function call({ url }: ServerProcess): Promise<{ status: number | undefined; body: unknown }> {
  const { path, headers, body } = jsonCall(SEEDREAM_BODY);
  const client = request(new URL(path, url), { method: "POST", headers });
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number | undefined; body: unknown }>();
  client.on("error", reject).on("response", (response) => {
    json(response).then((read) => resolve({ status: response.statusCode, body: read }), reject);
  });
  client.end(body);
  return promise;
}

const untilReceived = (): Promise<void> =>
  vi.waitFor(() => expect(providers().emulator.requests.length).toBeGreaterThan(0));

/** Rejects if the server accepts no new connection. It would still serve a connection that `fetch` has kept. */
async function connect({ url }: ServerProcess): Promise<void> {
  const socket = createConnection(Number(new URL(url).port), "127.0.0.1");
  await once(socket, "connect");
  socket.destroy();
}

it("a server that gets SIGTERM finishes its requests, calls onClosed, and exits with 0", async () => {
  providers().emulator.faults.add({ latencyMs: 300 });
  const server = await start();
  const called = call(server);
  await untilReceived();

  const code = await server.stop();

  expect(await called).toMatchObject({ status: 200, body: { data: [{}] } });
  expect({ code, errors: server.errors() }).toEqual({ code: 0, errors: ["closed"] });
});

it("a request that does not end is cut off after the deadline", async () => {
  providers().emulator.faults.add({ hang: true });
  const server = await start({ deadlineSeconds: 0.2 });
  const called = call(server);
  await untilReceived();

  expect(await server.stop()).toBe(0);
  expect(await called).toMatchObject({ status: 502 });
});

it("a second signal ends the process at once", async () => {
  providers().emulator.faults.add({ hang: true });
  const server = await start({ deadlineSeconds: 60 });
  const called = call(server).catch((error: unknown) => error);
  await untilReceived();

  void server.stop();
  // Waits until the first signal was handled, because two pending signals count as one.
  await vi.waitFor(() => expect(connect(server)).rejects.toThrow("ECONNREFUSED"));
  await server.stop();

  expect(server.errors()).toEqual([]);
  expect(await called).toBeInstanceOf(Error);
});

it("an error in onClosed ends the process with code 1", async () => {
  const server = await start({ failsToClose: true });

  expect(await server.stop()).toBe(1);
  expect(server.errors().join("\n")).toContain("The ledger is broken.");
});

it("a deadline that is not a number is refused when the server starts", async () => {
  await expect(start({ deadlineSeconds: "soon" as unknown as number })).rejects.toThrow(
    /deadlineSeconds must be/,
  );
});
