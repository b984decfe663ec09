import { once } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { open, responseTo } from "../support/http-client.js";
import { CALLER_HEADERS, GENERATIONS, jsonCall, SEEDREAM_BODY } from "../support/image-calls.js";
import { inFrontOf, startLargeProvider } from "../support/large-provider.js";
import { type Providers, startGateway } from "../support/test-gateway.js";
import type { AdapterHost } from "./adapter-host.js";
import { mountFor } from "./mount-for.js";

const NATIVE = "/api/v3/images/generations";
const CHARGED = { status: 200, images: 2, charge: "0.06" };

/** Answers as large as pictures in base64 make them, which are passed on as they come. */
export function describeLargeAnswers(host: AdapterHost, providers: () => Providers): void {
  describe("an answer of 8 MB", () => {
    it.each([GENERATIONS, NATIVE])(
      "comes byte for byte and does not say how long it is (%s)",
      async (path) => {
        const provider = await startLargeProvider();
        const { gateway, records } = startGateway(providers(), inFrontOf(provider));
        const { send } = await mountFor(host, gateway);

        const answer = await send({ ...jsonCall(SEEDREAM_BODY), path });

        expect(answer.status).toBe(200);
        // Not `toBe`: a difference would be printed.
        expect(answer.text === provider.text).toBe(true);
        expect(answer.headers).toMatchObject({
          "content-type": "application/json",
          "cache-control": "no-store",
        });
        expect(answer.headers).not.toHaveProperty("content-length");
        expect(records).toMatchObject([CHARGED]);
      },
    );

    if (host.hasSocket) describeBreaks(host, providers);
  });
}

function describeBreaks(host: AdapterHost, providers: () => Providers): void {
  it("breaks off where the provider breaks off, and costs nothing", async () => {
    const provider = await startLargeProvider("breaks off");
    const { gateway, records } = startGateway(providers(), inFrontOf(provider));
    const { send } = await mountFor(host, gateway);

    await expect(send(jsonCall(SEEDREAM_BODY))).rejects.toMatchObject({ code: "ECONNRESET" });

    expect(records).toMatchObject([{ images: 0, charge: "0", errorCode: "upstream_invalid_response" }]);
  });

  it("is charged whole when its client leaves in the middle, and the next one is served", async () => {
    const provider = await startLargeProvider(200);
    const { gateway, records } = startGateway(providers(), {
      ...inFrontOf(provider),
      limits: { concurrent: 1 },
    });
    const mounted = await mountFor(host, gateway);
    const outgoing = open(mounted.url, { path: GENERATIONS, headers: CALLER_HEADERS });
    outgoing.on("error", () => {});
    outgoing.end(JSON.stringify(SEEDREAM_BODY));
    const incoming = await responseTo(outgoing);
    incoming.on("error", () => {});
    await once(incoming, "data");
    outgoing.destroy();

    await vi.waitFor(() => expect(records).toMatchObject([CHARGED]), 3000);
    expect((await mounted.send(jsonCall(SEEDREAM_BODY))).status).toBe(200);
  });
}
