import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Call, open, readAnswer } from "../support/http-client.js";
import { CALLER_HEADERS, GENERATIONS, jsonCall, SEEDREAM_BODY } from "../support/image-calls.js";
import { type Providers, startGateway } from "../support/test-gateway.js";
import type { AdapterHost } from "./adapter-host.js";
import { mountFor } from "./mount-for.js";
import { readErrorCode } from "./read-answer.js";

const MEBIBYTE = 1024 * 1024;

/** Bodies that are refused or cut while they are on their way. */
export function describeUploads(host: AdapterHost, providers: () => Providers): void {
  describe("uploads that are refused or cut on their way", () => {
    describe.each([
      { declared: "a declared length", headers: { "content-length": String(64 * MEBIBYTE) } },
      { declared: "no declared length", headers: { "transfer-encoding": "chunked" } },
    ])("too large, with $declared", ({ headers }) => {
      it("are refused while the client is still sending, and the client reads the whole answer", async () => {
        const { gateway } = startGateway(providers(), { bodyLimits: { json: 100_000 } });
        const { url } = await mountFor(host, gateway);
        const upload = startEndlessUpload(url, {
          path: GENERATIONS,
          headers: { ...CALLER_HEADERS, ...headers },
        });

        const answer = await upload.answer;
        const answeredAfter = upload.sentBytes();
        await upload.closed;

        expect(answer.status).toBe(413);
        expect(readErrorCode(answer)).toBe("request_too_large");
        expect(Number(answer.headers["content-length"])).toBe(Buffer.byteLength(answer.text));
        expect(answeredAfter).toBeLessThan(8 * MEBIBYTE);
        expect(answer.headers["connection"]).toBe("close");
      });
    });

    it("without a key are refused while the client is still sending", async () => {
      const { gateway } = startGateway(providers());
      const { url } = await mountFor(host, gateway);
      const upload = startEndlessUpload(url, {
        path: GENERATIONS,
        headers: { "content-type": "application/json", "content-length": String(64 * MEBIBYTE) },
      });

      expect((await upload.answer).status).toBe(401);
      await upload.closed;
    });

    it.each([
      { declared: "a declared length", headers: { "content-length": "100000" } },
      { declared: "no declared length", headers: { "transfer-encoding": "chunked" } },
    ])("cut by the client, with $declared, reach no provider and hold nothing up", async ({ headers }) => {
      const { gateway, records } = startGateway(providers());
      const mounted = await mountFor(host, gateway);
      const outgoing = open(mounted.url, {
        path: GENERATIONS,
        headers: { ...CALLER_HEADERS, ...headers },
      });
      outgoing.on("error", () => {});
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

/** A client that sends a piece every few milliseconds and does not stop before the connection ends. */
function startEndlessUpload(url: string, call: Call) {
  const outgoing = open(url, call);
  const answer = readAnswer(outgoing);
  const closed = new Promise<void>((resolve) => outgoing.once("close", () => resolve()));
  const piece = Buffer.alloc(16 * 1024, 0x20);
  let sent = 0;
  const timer = setInterval(() => {
    outgoing.write(piece);
    sent += piece.length;
  }, 2);
  void closed.then(() => clearInterval(timer));
  return { answer, closed, sentBytes: () => sent };
}
