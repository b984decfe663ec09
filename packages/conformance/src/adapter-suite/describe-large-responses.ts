import { once } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { open, responseTo } from "../support/http-client.js";
import { CALLER_HEADERS, GENERATIONS, jsonCall, SEEDREAM_BODY } from "../support/image-calls.js";
import { inFrontOf, startLargeProvider } from "../support/large-provider.js";
import { type Providers, startGateway } from "../support/test-gateway.js";
import type { AdapterHost } from "./adapter-host.js";
import { mountFor } from "./mount-for.js";

const NATIVE = "/api/v3/images/generations";
const CLIENTS = 10;
const CHARGED = { status: 200, images: 2, charge: "0.06" };

/** Responses with images in base64, which are relayed while they arrive. */
export function describeLargeResponses(host: AdapterHost, providers: () => Providers): void {
  describe("a response of 8 MB", () => {
    it.each([GENERATIONS, NATIVE])(
      "is relayed byte for byte and has no content-length (%s)",
      async (path) => {
        const provider = await startLargeProvider();
        const { gateway, records } = startGateway(providers(), inFrontOf(provider));
        const { send } = await mountFor(host, gateway);

        const response = await send({ ...jsonCall(SEEDREAM_BODY), path });

        expect(response.status).toBe(200);
        // On `/v1` the gateway completes the usage. Not `toBe`, which would print the whole difference.
        const cut = (text: string): string =>
          path === NATIVE ? text : text.replace(/(?<="usage":)\{(?:[^{}]|\{[^{}]*\})*\}/, "");
        expect(cut(response.text) === cut(provider.text)).toBe(true);
        expect(response.headers).toMatchObject({
          "content-type": "application/json",
          "cache-control": "no-store",
        });
        expect(response.headers).not.toHaveProperty("content-length");
        expect(records).toMatchObject([CHARGED]);
      },
    );

    if (host.hasSocket) describeBreaks(host, providers);
  });
}

function describeBreaks(host: AdapterHost, providers: () => Providers): void {
  it("breaks off if the upstream response breaks off, and costs nothing", async () => {
    const provider = await startLargeProvider("breaks off");
    const { gateway, records } = startGateway(providers(), inFrontOf(provider));
    const { send } = await mountFor(host, gateway);

    await expect(send(jsonCall(SEEDREAM_BODY))).rejects.toMatchObject({ code: "ECONNRESET" });

    expect(records).toMatchObject([{ images: 0, charge: "0", errorCode: "upstream_invalid_response" }]);
  });

  it("is charged completely if its client disconnects, also ten in parallel, and the next requests are served", async () => {
    const provider = await startLargeProvider(200);
    const { gateway, records } = startGateway(providers(), {
      ...inFrontOf(provider),
      limits: { concurrent: CLIENTS },
    });
    const mounted = await mountFor(host, gateway);

    await atOnce(() => leaveInTheMiddle(mounted.url));
    await vi.waitFor(() => expect(records).toHaveLength(CLIENTS), 5000);
    const next = await atOnce(() => mounted.send(jsonCall(SEEDREAM_BODY)));

    for (const record of records) expect(record).toMatchObject(CHARGED);
    expect(new Set(next.map(({ status }) => status))).toEqual(new Set([200]));
  });
}

function atOnce<T>(run: () => Promise<T>): Promise<readonly T[]> {
  return Promise.all(Array.from({ length: CLIENTS }, run));
}

/** Sends a request and disconnects when the response has begun. */
async function leaveInTheMiddle(url: string): Promise<void> {
  const outgoing = open(url, { path: GENERATIONS, headers: CALLER_HEADERS });
  outgoing.on("error", () => {});
  outgoing.end(JSON.stringify(SEEDREAM_BODY));
  const incoming = await responseTo(outgoing);
  incoming.on("error", () => {});
  await once(incoming, "data");
  outgoing.destroy();
}
