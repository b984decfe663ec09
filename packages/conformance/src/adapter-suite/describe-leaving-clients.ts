import { text as readText } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { open, responseTo } from "../support/http-client.js";
import { CALLER_HEADERS, GENERATIONS, jsonCall, SEEDREAM_BODY } from "../support/image-calls.js";
import { inFrontOf, startLargeProvider } from "../support/large-provider.js";
import { CHANNEL_KEY, type Providers, startGateway } from "../support/test-gateway.js";
import type { AdapterHost } from "./adapter-host.js";
import { mountFor } from "./mount-for.js";

const CALL = { path: GENERATIONS, headers: CALLER_HEADERS };

/** Clients that disconnect before their response. */
export function describeLeavingClients(host: AdapterHost, providers: () => Providers): void {
  describe("a client that disconnects before its response", () => {
    it("is charged when the upstream response has ended, and the next request is served", async () => {
      const { gateway, records } = startGateway(providers());
      const mounted = await mountFor(host, gateway);
      providers().emulator.faults.add({ latencyMs: 300, times: 1 });

      await leaveAfterSending(mounted.url, providers);
      expect(records).toEqual([]);
      const next = await mounted.send(jsonCall(SEEDREAM_BODY));
      await vi.waitFor(() => expect(records).toHaveLength(2));

      expect(next.status).toBe(200);
      expect(records).toMatchObject([
        { status: 200, images: 1, charge: "0.03" },
        { status: 200, images: 1, charge: "0.03" },
      ]);
      expect(new Set(records.map(({ id }) => id)).size).toBe(2);
    });

    it("is charged for a stream if it disconnects before the first event", async () => {
      const { gateway, records } = startGateway(providers());
      const mounted = await mountFor(host, gateway);
      providers().emulator.faults.add({ latencyMs: 300, times: 1 });

      await leaveAfterSending(mounted.url, providers, { ...SEEDREAM_BODY, stream: true });
      await vi.waitFor(() => expect(records).toHaveLength(1), 15_000);

      expect(records).toMatchObject([{ status: 200, images: 1, charge: "0.03" }]);
    });

    it("costs nothing if it disconnects before its request is sent", async () => {
      const asked = Promise.withResolvers<void>();
      const left = Promise.withResolvers<void>();
      const { gateway, records } = startGateway(providers(), {
        callers: undefined,
        authenticate: async () => {
          asked.resolve();
          await left.promise;
          // The host sees a little later that the client has disconnected.
          await pause(200);
          return { id: "tester" };
        },
      });
      const { url } = await mountFor(host, gateway);
      const outgoing = open(url, CALL);
      outgoing.on("error", () => {});
      outgoing.end(JSON.stringify(SEEDREAM_BODY));
      await asked.promise;
      outgoing.destroy();
      left.resolve();

      await gateway.close();

      expect(providers().emulator.requests).toEqual([]);
      expect(records).toEqual([]);
    });

    it("leaves a record if the provider never responds, and the next request is served", async () => {
      const timeouts = { connectSeconds: 1, firstByteSeconds: 0.3, idleSeconds: 0.3 };
      const { arkBaseUrl } = providers().server;
      const { gateway, records } = startGateway(providers(), {
        models: { [SEEDREAM_BODY.model]: { family: "seedream" } },
        channels: [{ id: "ark", family: "seedream", apiKey: CHANNEL_KEY, baseUrl: arkBaseUrl, timeouts }],
        billing: undefined,
      });
      const mounted = await mountFor(host, gateway);
      providers().emulator.faults.add({ hang: true, times: 1 });

      await leaveAfterSending(mounted.url, providers);
      const next = await mounted.send(jsonCall(SEEDREAM_BODY));
      expect(next.status).toBe(200);
      await vi.waitFor(() => expect(records).toHaveLength(2), 15_000);

      expect(records).toMatchObject([{ status: 200 }, { status: 504 }]);
    });
  });
}

/** Clients that stay connected and do not read their response. */
export function describeUnreadResponses(host: AdapterHost, providers: () => Providers): void {
  it("a client that does not read its response is disconnected and charged, and the gateway closes", async () => {
    // More than the buffers of all sockets in between.
    const provider = await startLargeProvider("goes on", ["A".repeat(32_000_000)]);
    const { gateway, records } = startGateway(providers(), {
      ...inFrontOf(provider),
      responseIdleSeconds: 0.5,
      limits: { concurrent: 1 },
    });
    const mounted = await mountFor(host, gateway);
    const outgoing = open(mounted.url, CALL);
    outgoing.on("error", () => {});
    const response = responseTo(outgoing);
    outgoing.end(JSON.stringify(SEEDREAM_BODY));
    const unread = (await response).pause();
    unread.on("error", () => {});

    await vi.waitFor(() => expect(records).toHaveLength(1));

    expect(records).toMatchObject([{ status: 200, images: 1, charge: "0.03" }]);
    const refusal = await mounted.send(jsonCall({ ...SEEDREAM_BODY, size: "1x1" }));
    expect(refusal.status).toBe(400);
    await gateway.close();
    await expect(readText(unread)).rejects.toThrow("aborted");
  });
}

/** Sends a request and disconnects when the provider has the request. */
async function leaveAfterSending(
  url: string,
  providers: () => Providers,
  body: object = SEEDREAM_BODY,
): Promise<void> {
  const outgoing = open(url, CALL);
  outgoing.on("error", () => {});
  outgoing.end(JSON.stringify(body));
  await vi.waitFor(() => expect(providers().emulator.requests).toHaveLength(1), { interval: 5 });
  outgoing.destroy();
}
