import { once } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { open, responseTo, send } from "../support/http-client.js";
import { CALLER_HEADERS, GENERATIONS, jsonCall, SEEDREAM_BODY } from "../support/image-calls.js";
import { readEvents } from "../support/read-events.js";
import { startSilenceProxy } from "../support/silence-proxy.js";
import { type Providers, startGateway } from "../support/test-gateway.js";
import type { AdapterHost } from "./adapter-host.js";
import { mountFor } from "./mount-for.js";

const CALL = jsonCall({ ...SEEDREAM_BODY, prompt: "two paper kites", n: 2, stream: true });
const MAX_SILENCE_MS = 1500;
/** How long the provider sends nothing. */
const LATENCY_MS = 3000;
const HEARTBEAT_SECONDS = 0.1;

/** Streams that begin before their provider has responded. */
export function describeEarlyStreams(host: AdapterHost, providers: () => Providers): void {
  const mount = async (heartbeatSeconds?: number) => {
    const { gateway, records } = startGateway(providers(), { heartbeatSeconds, limits: { concurrent: 1 } });
    return { records, mounted: await mountFor(host, gateway) };
  };

  describe("streams of a provider that is silent at first", () => {
    it("pass a proxy that closes silent connections, if there are heartbeats", async () => {
      const silent = await mount();
      providers().emulator.faults.add({ latencyMs: LATENCY_MS, times: 1 });
      const cut = send(await startSilenceProxy(silent.mounted.url, MAX_SILENCE_MS), CALL);
      await expect(cut).rejects.toMatchObject({ code: "ECONNRESET" });
      await vi.waitFor(() => expect(silent.records).toHaveLength(1), 15_000);

      const { mounted, records } = await mount(HEARTBEAT_SECONDS);
      providers().emulator.faults.add({ latencyMs: LATENCY_MS, times: 1 });
      const response = await send(await startSilenceProxy(mounted.url, MAX_SILENCE_MS), CALL);

      expect(response).toMatchObject({ status: 200, headers: { "content-type": /^text\/event-stream/ } });
      expect(response.text.split(": keep-alive\n\n").length).toBeGreaterThan(4);
      expect(readEvents(response.text).map(({ event, data }) => event ?? data)).toEqual([
        "image_generation.partial_succeeded",
        "image_generation.partial_succeeded",
        "image_generation.completed",
        "[DONE]",
      ]);
      expect(records).toMatchObject([{ status: 200, images: 2, charge: "0.06" }]);
    });

    it("end with an `error` event if the provider refuses, and the next request is served", async () => {
      const { mounted, records } = await mount(HEARTBEAT_SECONDS);
      providers().emulator.faults.add({ latencyMs: 300, code: "ServerOverloaded", times: 1 });

      const { status, text } = await send(mounted.url, CALL);

      expect(status).toBe(200);
      expect(readEvents(text)).toMatchObject([{ event: "error", data: /"ServerOverloaded"/ }]);
      expect(records).toMatchObject([{ status: 429, images: 0, charge: "0" }]);
      expect((await mounted.send(jsonCall(SEEDREAM_BODY))).status).toBe(200);
    });

    it("are charged if the client disconnects before the provider has responded", async () => {
      const { mounted, records } = await mount(HEARTBEAT_SECONDS);
      providers().emulator.faults.add({ latencyMs: 600, times: 1 });
      const outgoing = open(mounted.url, { path: GENERATIONS, headers: CALLER_HEADERS });
      outgoing.on("error", () => {});
      outgoing.end(CALL.body);
      const incoming = await responseTo(outgoing);
      incoming.on("error", () => {});
      expect(String(await once(incoming, "data"))).toBe(": keep-alive\n\n");
      outgoing.destroy();

      await vi.waitFor(() => expect(records).toHaveLength(1), 15_000);

      expect(records).toMatchObject([{ status: 200, images: 2, charge: "0.06" }]);
      expect((await mounted.send(jsonCall(SEEDREAM_BODY))).status).toBe(200);
    });
  });
}
