import { once } from "node:events";
import { createParser } from "eventsource-parser";
import { describe, expect, it, vi } from "vitest";
import { open, responseTo } from "../support/http-client.js";
import { CALLER_HEADERS, GENERATIONS, jsonCall, SEEDREAM_BODY } from "../support/image-calls.js";
import { startGateway } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import type { AdapterHost } from "./adapter-host.js";
import { mountFor } from "./mount-for.js";

const MS_PER_IMAGE = 150;
/** How long the provider is silent before its response begins. */
const SILENT_MS = 1_000;
const BODY = { ...SEEDREAM_BODY, prompt: "three paper kites", n: 3, stream: true };

/** Streams whose images are made slowly. */
export function describeStreams(host: AdapterHost): void {
  describe("streams", () => {
    const providers = useProviders({ images: "tiny", millisecondsPerImage: MS_PER_IMAGE });

    const startStream = async () => {
      const { gateway, records } = startGateway(providers());
      const mounted = await mountFor(host, gateway);
      const outgoing = open(mounted.url, { path: GENERATIONS, headers: CALLER_HEADERS });
      outgoing.on("error", () => {});
      outgoing.end(JSON.stringify(BODY));
      const incoming = await responseTo(outgoing);
      incoming.setEncoding("utf8");
      return { records, mounted, outgoing, incoming };
    };

    it("send each image while the next one is being made", async () => {
      const { incoming, records } = await startStream();
      const arrivals: { readonly name: string; readonly at: number }[] = [];
      const parser = createParser({
        onEvent: ({ event, data }) => arrivals.push({ name: event ?? data, at: performance.now() }),
      });
      for await (const text of incoming) parser.feed(String(text));

      expect(arrivals.map(({ name }) => name)).toEqual([
        "image_generation.partial_succeeded",
        "image_generation.partial_succeeded",
        "image_generation.partial_succeeded",
        "image_generation.completed",
        "[DONE]",
      ]);
      const [first, second, third] = arrivals.map(({ at }) => at);
      expect(Number(second) - Number(first)).toBeGreaterThan(MS_PER_IMAGE / 2);
      expect(Number(third) - Number(second)).toBeGreaterThan(MS_PER_IMAGE / 2);
      // The stream ends after its record is written.
      expect(records).toMatchObject([{ status: 200, images: 3, charge: "0.09" }]);
    });

    it.each([
      ["an image", {}, "image_generation.completed"],
      ["an error event", { code: "InputTextSensitiveContentDetected" }, "error"],
    ])("begin with a comment while the provider is silent, and then have %s", async (_what, fault, last) => {
      const { gateway } = startGateway(providers(), { heartbeatSeconds: 0.1 });
      providers().emulator.faults.add({ ...fault, latencyMs: SILENT_MS });
      const { url } = await mountFor(host, gateway);
      const outgoing = open(url, { path: GENERATIONS, headers: CALLER_HEADERS });
      const beganAt = performance.now();
      outgoing.end(JSON.stringify({ ...BODY, n: 1 }));

      const incoming = await responseTo(outgoing);
      const chunks: string[] = [];
      let firstAt = 0;
      for await (const chunk of incoming.setEncoding("utf8")) {
        if (chunks.push(String(chunk)) === 1) firstAt = performance.now();
      }

      expect(incoming.statusCode).toBe(200);
      expect(firstAt - beganAt).toBeLessThan(SILENT_MS);
      expect(chunks[0]).toMatch(/^:/);
      const events = [...chunks.join("").matchAll(/^event: (.+)$/gm)].map(([, name]) => name);
      expect(events.at(-1)).toBe(last);
    });

    it("are charged completely if the client disconnects after the first image, and the next request is served", async () => {
      const { incoming, outgoing, records, mounted } = await startStream();
      await once(incoming, "data");
      incoming.on("error", () => {});
      outgoing.destroy();

      const next = await mounted.send(jsonCall(SEEDREAM_BODY));
      await vi.waitFor(() => expect(records).toHaveLength(2), 15_000);

      expect(next.status).toBe(200);
      expect(new Set(records.map(({ charge }) => charge))).toEqual(new Set(["0.03", "0.09"]));
    });
  });
}
