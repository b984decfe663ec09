import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { open } from "../support/http-client.js";
import { CALLER_HEADERS, GENERATIONS, jsonCall, SEEDREAM_BODY } from "../support/image-calls.js";
import { openRaw, sendEndlessly, toChunk } from "../support/raw-client.js";
import { type Providers, startGateway } from "../support/test-gateway.js";
import type { AdapterHost } from "./adapter-host.js";
import { mountFor } from "./mount-for.js";
import { readErrorCode } from "./read-response.js";

const MEBIBYTE = 1024 * 1024;
const LARGE_BODY = Buffer.alloc(2 * MEBIBYTE, 0x20);
const DECLARED = { "content-length": String(LARGE_BODY.length) };
const CHUNKED = { "transfer-encoding": "chunked" };
const { authorization: _, ...WITHOUT_KEY } = CALLER_HEADERS;

/** Uploads that are refused, or that break off. */
export function describeUploads(host: AdapterHost, providers: () => Providers): void {
  const mount = async () => {
    const { gateway, records } = startGateway(providers(), { bodyLimits: { json: 100_000 } });
    return { records, mounted: await mountFor(host, gateway) };
  };

  describe("uploads that are refused while the client sends", () => {
    it.each([
      { reason: "they grow too large", headers: CALLER_HEADERS, status: 413, code: "request_too_large" },
      { reason: "they carry no key", headers: WITHOUT_KEY, status: 401, code: "invalid_api_key" },
    ])("get a response at once, and the connection ends, if $reason", async ({ headers, status, code }) => {
      const { mounted } = await mount();
      const client = await openRaw(mounted.url, { path: GENERATIONS, headers: { ...headers, ...CHUNKED } });
      const closed = once(client.socket, "close");

      const { sentBytes } = sendEndlessly(client.socket);
      const response = await client.response();
      const respondedAfter = sentBytes();
      await closed.catch(ignoreReset);

      expect(response.status).toBe(status);
      expect(readErrorCode(response)).toBe(code);
      expect(response.headers["connection"]).toBe("close");
      expect(respondedAfter).toBeLessThan(4 * MEBIBYTE);
    });

    it.each([
      { reason: "they are declared too large", headers: { ...CALLER_HEADERS, ...DECLARED }, status: 413 },
      { reason: "they grow too large", headers: { ...CALLER_HEADERS, ...CHUNKED }, status: 413 },
      { reason: "they carry no key", headers: { ...WITHOUT_KEY, ...DECLARED }, status: 401 },
    ])(
      "have a response that a client can still read after it has sent everything, if $reason",
      async ({ headers, status }) => {
        const { mounted } = await mount();
        const client = await openRaw(mounted.url, { path: GENERATIONS, headers });
        const body = "transfer-encoding" in headers ? toChunk(LARGE_BODY) : LARGE_BODY;

        await new Promise((resolve) => client.socket.write(body, resolve));
        await pause(50);

        expect((await client.response()).status).toBe(status);
      },
    );
  });

  describe("uploads that the client breaks off", () => {
    it.each([
      { declared: "a declared length", headers: { "content-length": "90000" } },
      { declared: "no declared length", headers: CHUNKED },
    ])("reach no provider and keep no slot, with $declared", async ({ headers }) => {
      const { mounted, records } = await mount();
      const outgoing = open(mounted.url, { path: GENERATIONS, headers: { ...CALLER_HEADERS, ...headers } });
      outgoing.on("error", ignoreReset);
      await new Promise((resolve) => outgoing.write(JSON.stringify(SEEDREAM_BODY).slice(0, 30), resolve));
      await pause(20);
      outgoing.destroy();

      const next = await mounted.send(jsonCall(SEEDREAM_BODY));

      expect(next.status).toBe(200);
      expect(providers().emulator.requests).toHaveLength(1);
      expect(records).toHaveLength(1);
    });
  });
}

/** A connection on which the client was still sending may end with a reset. */
function ignoreReset(): void {}
