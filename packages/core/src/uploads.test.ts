import { Buffer } from "node:buffer";
import { once } from "node:events";
import { readdirSync, readlinkSync } from "node:fs";
import { type IncomingMessage, request, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { createGateway, type Gateway } from "./gateway.js";
import type { GatewayOptions } from "./gateway-options/options.js";
import type { GatewayRequest, GatewayResponse } from "./http.js";
import { FORM_TYPE, formBytes, inPieces, PNG } from "./testing/form-bytes.js";
import { type LoopbackServer, serve, startServer } from "./testing/start-server.js";
import { ARK_RESPONSE, CALLER_KEY } from "./testing/test-gateway.js";

const MODEL = "seedream-4-5-251128";
const HEADERS = { authorization: `Bearer ${CALLER_KEY}`, "content-type": FORM_TYPE };

/** An image that does not fit into the memory for uploads, of odd length. */
const IMAGE = Buffer.concat([
  PNG,
  Buffer.from(Uint8Array.from({ length: 1_500_001 }, (_, at) => (at * 7) & 255)),
]);
const FORM = formBytes(
  { name: "model", content: MODEL },
  { name: "prompt", content: "雪" },
  { name: "image", filename: "a", content: IMAGE },
  { name: "image", filename: "b", content: PNG },
);
const SENT = JSON.stringify({
  model: MODEL,
  prompt: "雪",
  image: [IMAGE, PNG].map((bytes) => `data:image/png;base64,${Buffer.from(bytes).toString("base64")}`),
});

type ReadResponse = (req: IncomingMessage, res: ServerResponse) => unknown;

const succeed: ReadResponse = (_req, res) => {
  res.setHeader("content-type", "application/json");
  res.end(JSON.stringify(ARK_RESPONSE));
};

const refuse =
  (status: number): ReadResponse =>
  (_req, res) => {
    res.writeHead(status, { "content-type": "application/json" });
    res.end(JSON.stringify({ error: { code: "InternalServiceError", message: "no" } }));
  };

/** Providers that record the bodies of their requests. */
interface Site {
  readonly gateway: Gateway;
  readonly bodies: readonly string[];
  readonly providers: readonly LoopbackServer[];
}

/**
 * A gateway that keeps nothing in memory, with a channel for each response, asked in that order.
 * @param first a provider that is asked before those
 */
async function open(
  responses: readonly ReadResponse[],
  options: Partial<GatewayOptions> = {},
  first?: LoopbackServer,
): Promise<Site> {
  const bodies: string[] = [];
  const providers = await Promise.all(
    responses.map((respond) =>
      startServer((req, res) => {
        req.on("end", () => respond(req, res));
        void buffer(req).then((body) => bodies.push(String(body)));
      }),
    ),
  );
  const gateway = createGateway({
    models: { [MODEL]: { family: "seedream" } },
    channels: [first ?? [], providers].flat().map(({ url }, index) => ({
      id: `ark-${index}`,
      family: "seedream",
      apiKey: "key",
      baseUrl: url,
      priority: -index,
    })),
    callers: [{ id: "me", key: CALLER_KEY }],
    logger: { warn: () => undefined, error: () => undefined },
    uploadMemoryBytes: 0,
    ...options,
  });
  onTestFinished(async () => {
    await gateway.close();
    for (const { close } of providers) await close();
  });
  return { gateway, bodies, providers };
}

function send(
  { gateway }: Site,
  body: AsyncIterable<Uint8Array> = inPieces(FORM, 65_536),
  { headers = {}, signal = new AbortController().signal }: { headers?: object; signal?: AbortSignal } = {},
): Promise<GatewayResponse> {
  const asked: GatewayRequest = {
    method: "POST",
    url: "/v1/images/edits",
    headers: new Headers({ ...HEADERS, ...headers }),
    body,
    signal,
  };
  return gateway.handle(asked) ?? Promise.reject(new Error("The path is the gateway's."));
}

/** The open temporary files of this process, if the system has this information. */
function countOpenFiles(): number {
  if (process.platform !== "linux") return 0;
  return readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).includes("calotype-upload-");
    } catch {
      return false;
    }
  }).length;
}

const filesGone = (): Promise<void> => vi.waitFor(() => expect(countOpenFiles()).toBe(0));

afterEach(filesGone);

describe("an upload that waits in a file", () => {
  it("is sent as the JSON that it would be in memory", async () => {
    const site = await open([succeed]);
    expect((await send(site)).status).toBe(200);
    expect(site.bodies[0] === SENT).toBe(true);
    await filesGone();
  });

  it("is sent again to another channel, byte by byte the same", async () => {
    const site = await open([refuse(503), refuse(429), succeed]);
    expect((await send(site)).status).toBe(200);
    expect(site.bodies.map((body) => body === SENT)).toEqual([true, true, true]);
  });

  it("is sent again if a channel responds before it has read everything", async () => {
    const hasty = await serve(refuse(401));
    const site = await open([succeed], {}, hasty);
    expect((await send(site)).status).toBe(200);
    expect(hasty.connections()).toBe(1);
    expect(site.bodies.map((body) => body === SENT)).toEqual([true]);
  });

  it("is not sent again if a channel cut the connection in the middle of it", async () => {
    const cutting = await serve((req) => void req.once("data", () => req.socket.resetAndDestroy()));
    const site = await open([succeed], {}, cutting);
    expect((await send(site)).status).toBe(502);
    expect(cutting.connections()).toBe(1);
    expect(site.bodies).toEqual([]);
  });

  it("is sent over open connections", async () => {
    const site = await open([succeed]);
    for (let count = 0; count < 5; count++) expect((await send(site)).status).toBe(200);
    expect(site.providers[0]?.connections()).toBe(1);
  });

  it("is removed if the provider failed", async () => {
    const site = await open([refuse(500)]);
    expect((await send(site)).status).toBe(502);
    await filesGone();
  });

  it.each<[string, Uint8Array, Partial<GatewayOptions>, number]>([
    ["has no model", formBytes({ name: "image", filename: "a", content: IMAGE }), {}, 400],
    ["is cut", FORM.subarray(0, 900_000), {}, 400],
    ["is too large", FORM, { bodyLimits: { file: 1_000_000 } }, 413],
    ["is refused by the operator", FORM, { beforeSend: () => Promise.reject(new Error("no")) }, 500],
  ])("is removed if its form %s", async (_what, form, options, status) => {
    const site = await open([succeed], options);
    expect((await send(site, inPieces(form, 65_536))).status).toBe(status);
    await filesGone();
    expect(site.bodies).toEqual([]);
  });

  it("is removed if its client disconnected in the middle of it", async () => {
    const site = await open([succeed]);
    let seen = 0;
    async function* body() {
      yield* inPieces(FORM.subarray(0, 1_000_000), 65_536);
      seen = countOpenFiles();
      throw new Error("aborted");
    }
    expect((await send(site, body())).status).toBe(499);
    expect(seen).toBe(process.platform === "linux" && !("Bun" in globalThis) ? 1 : 0);
    await filesGone();
  });

  it("is the same request as before for an idempotency key, in another form of the same files", async () => {
    const site = await open([succeed]);
    const headers = { "idempotency-key": "k1" };
    const first = await send(site, undefined, { headers });
    const other = Buffer.from(
      Buffer.from(FORM).toString("latin1").replaceAll("form-boundary", "other-b-ndary"),
      "latin1",
    );
    const type = { "content-type": FORM_TYPE.replace("form-boundary", "other-b-ndary") };
    const again = await send(site, inPieces(other, 10_007), { headers: { ...headers, ...type } });
    expect([first.status, again.status]).toEqual([200, 200]);
    expect(again.body).toEqual(first.body);
    expect(site.bodies).toHaveLength(1);
    const changed = Buffer.from(FORM);
    changed.writeUInt8(9, 1_400_000);
    expect((await send(site, inPieces(changed, 65_536), { headers })).status).toBe(422);
  });

  it("can be read by the operator before it is sent, and not after the request", async () => {
    let kept: (() => unknown) | undefined;
    const site = await open([succeed], {
      async beforeSend({ images: [image] }) {
        if (typeof image !== "object") throw new Error("It is not an upload.");
        const chunks = [];
        for await (const chunk of image.chunks()) chunks.push(chunk);
        expect([image.mediaType, image.byteLength]).toEqual(["image/png", IMAGE.length]);
        expect(Buffer.concat(chunks).equals(IMAGE)).toBe(true);
        expect(
          JSON.stringify(image) === JSON.stringify(`data:image/png;base64,${IMAGE.toString("base64")}`),
        ).toBe(true);
        kept = () => image.chunks();
      },
    });
    expect((await send(site)).status).toBe(200);
    await vi.waitFor(() => expect(() => kept?.()).toThrow("The request of this upload is over"));
  });
});

describe("uploads of many at once", () => {
  it.each([4_000_000, 256_000_000])(
    "are each their own, request after request, with %i bytes of memory",
    async (uploadMemoryBytes) => {
      const site = await open([succeed], { uploadMemoryBytes });
      const images = Array.from({ length: 24 }, (_, index) =>
        Buffer.concat([PNG, Buffer.alloc(300_000 + index * 40_001, `image ${index} `)]),
      );
      const sendImage = (content: Buffer): Promise<GatewayResponse> => {
        const fields = { model: MODEL, prompt: "x" };
        const texts = Object.entries(fields).map(([name, text]) => ({ name, content: text }));
        return send(site, inPieces(formBytes(...texts, { name: "image", filename: "a", content }), 65_536));
      };
      for (const half of [images.slice(12), images.slice(0, 12)]) {
        const responses = await Promise.all(half.map(sendImage));
        expect(responses.map(({ status }) => status)).toEqual(half.map(() => 200));
      }
      const sent = new Set(site.bodies.map((body) => /;base64,([^"]*)/.exec(body)?.[1]));
      const missing = images.filter((image) => !sent.has(image.toString("base64")));
      expect([site.bodies.length, missing.length]).toEqual([24, 0]);
    },
  );
});

describe("an upload of one who leaves", () => {
  it("over a socket in the middle of it does not affect other requests", async () => {
    const site = await open([succeed]);
    const server = await serve((req, res) => {
      void send(site, req).then(({ status }) => res.writeHead(status).end());
    });
    const client = request(`${server.url}/v1/images/edits`, { method: "POST", headers: HEADERS });
    client.on("error", () => undefined);
    client.write(FORM.subarray(0, 1_200_000));
    await once(client, "drain");
    client.destroy();
    await filesGone();
    expect(site.bodies).toEqual([]);
  });
});
