import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import type { GatewayOptions } from "./gateway-options/options.js";
import { FORM_TYPE, formBytes, JPEG, PNG, PNG_URL } from "./testing/form-bytes.js";
import { MemoryResults } from "./testing/memory-results.js";
import { painter } from "./testing/painter.js";
import { startServer } from "./testing/start-server.js";
import { CALLER_KEY, createTestGateway, readResponse, refusal } from "./testing/test-gateway.js";

const EDITS = "http://gateway.test/v1/images/edits";
const BASE64 = Buffer.from(PNG).toString("base64");
const MADE = { pictures: [BASE64], tokens: { output_tokens: 100, total_tokens: 140 } };

type Part = string | Uint8Array<ArrayBuffer>;
type Reply = (request: Request) => Response | Promise<Response>;
const made: Reply = () => Response.json(MADE, { headers: { "x-painter-id": "p-1" } });

/** Responds to downloads of images, and makes an image for every other call. */
const provide =
  (download: (url: string) => Response): Reply =>
  (request) =>
    request.method === "GET" ? download(request.url) : made(request);

/** Makes an image that is a link. */
const makeLink: Reply = (request) =>
  request.method === "GET"
    ? new Response(PNG)
    : Response.json({ ...MADE, pictures: ["https://93.184.216.34/1.png"] });

/** A gateway with one channel for each dialect, in order of priority. `reply` gets downloads of links too. */
function open(
  reply: Reply = made,
  {
    dialects = [undefined],
    ...options
  }: Partial<GatewayOptions> & { dialects?: (string | undefined)[] } = {},
) {
  const sent: Request[] = [];
  const opened = createTestGateway(undefined, {
    families: [painter],
    models: { pic: { family: "painter" } },
    channels: dialects.map((dialect, index) => ({
      id: `c${index}`,
      family: "painter",
      apiKey: `painter-key-000${index}`,
      dialect,
      priority: -index,
      baseUrl: "https://painter.test/v1?v=2",
    })),
    billing: undefined,
    fetch: async (url, init) => {
      const request = new Request(url, init);
      sent.push(request.clone());
      return await reply(request);
    },
    ...options,
  });
  const edit = async (parts: Record<string, Part | readonly Part[]>) => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ model: "pic", prompt: "a fox", ...parts })) {
      for (const part of [value].flat())
        form.append(name, typeof part === "string" ? part : new File([part], "f"));
    }
    const headers = { authorization: `Bearer ${CALLER_KEY}` };
    return readResponse(
      await opened.gateway.fetch(new Request(EDITS, { method: "POST", headers, body: form })),
    );
  };
  return { ...opened, sent, edit };
}

function bytesOf(seen: object | undefined): unknown {
  return seen !== undefined && "length" in seen ? seen.length : undefined;
}

/** The entries of a form, with files as `type name bytes`. */
async function entriesOf(request: Request | undefined): Promise<readonly string[]> {
  const form = (await request?.formData()) ?? new FormData();
  const entries = [...form].map(async ([name, value]) =>
    typeof value === "string"
      ? `${name}=${value}`
      : `${name}: ${value.type} ${value.name} ${Buffer.from(await value.arrayBuffer()).toString("base64")}`,
  );
  return await Promise.all(entries);
}

describe("a call that a family describes", () => {
  it("has the key in the family's header, and the query of the base URL", async () => {
    const { post, sent } = open();
    expect((await post({ model: "pic", prompt: "a fox" })).status).toBe(200);
    const [call] = sent;
    expect(call?.url).toBe("https://painter.test/v1/models/pic?v=2");
    expect(call?.headers.get("x-key")).toBe("painter-key-0000");
    expect(call?.headers.get("authorization")).toBeNull();
    expect(call?.headers.get("content-type")).toBe("application/json");
    expect(await call?.json()).toEqual({ prompt: "a fox" });
  });

  it("can be a GET with a query of its own and no body", async () => {
    const { post, sent } = open();
    expect((await post({ model: "pic", prompt: "again" })).status).toBe(200);
    expect(sent[0]?.method).toBe("GET");
    expect(sent[0]?.url).toBe("https://painter.test/v1/models/pic?v=2&prompt=again");
    expect(await sent[0]?.text()).toBe("");
    expect(sent[0]?.headers.get("content-type")).toBeNull();
  });

  it("can be a form with the client's fields, files and mask", async () => {
    const { edit, sent } = open();
    const response = await edit({ "image[]": [PNG, JPEG], mask: PNG, size: "1024x1024", strength: "0.5" });
    expect(response.body).toMatchObject({ data: [{ b64_json: BASE64 }] });
    expect(sent[0]?.url).toBe("https://painter.test/v1/models/pic/edits?v=2");
    expect(await entriesOf(sent[0])).toEqual([
      "prompt=a fox",
      "size=1024x1024",
      "strength=0.5",
      `image[]: image/png image.png ${BASE64}`,
      `image[]: image/jpeg image.jpg ${Buffer.from(JPEG).toString("base64")}`,
      `mask: image/png image.png ${BASE64}`,
    ]);
  });

  it("has images as plain base64 in JSON", async () => {
    const { edit, sent } = open(made, { dialects: ["inline"] });
    await edit({ image: [PNG, PNG_URL] });
    expect(await sent[0]?.json()).toEqual({ prompt: "a fox", inline: [{ data: BASE64 }, { data: BASE64 }] });
  });

  it("leaves the provider's request id of its own header in the record and the error", async () => {
    const { post, records } = open();
    await post({ model: "pic", prompt: "a fox" });
    expect(records).toMatchObject([{ upstreamRequestId: "p-1" }]);
    const failing = open(() => Response.json({}, { status: 400, headers: { "x-painter-id": "p-2" } }));
    const { body } = await failing.post({ model: "pic", prompt: "a fox" });
    expect(body).toMatchObject({ error: { upstream_request_id: "p-2" } });
  });

  it("is sent whole to a second provider after the first one failed, over sockets", async () => {
    const image = Buffer.concat([PNG, Buffer.alloc(3_000_001, "abc")]);
    const seen: object[] = [];
    const listen = (status: number) => {
      const respond = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
        const body = await buffer(req);
        const { "content-type": type, "content-length": declared } = req.headers;
        const { length } = body;
        seen.push({ type: type?.split(";")[0], declared, length, hasImage: body.includes(image) });
        res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(MADE));
      };
      return startServer((req, res) => void respond(req, res));
    };
    const servers = [await listen(503), await listen(200)];
    onTestFinished(async () => {
      await Promise.all(servers.map((server) => server.close()));
    });
    const { gateway } = open(made, {
      fetch: undefined,
      uploadMemoryBytes: 1_000_000,
      channels: servers.map(({ url }, index) => ({
        id: `c${index}`,
        family: "painter",
        apiKey: "painter-key-0001",
        baseUrl: url,
        priority: -index,
      })),
    });
    const body = formBytes(
      { name: "model", content: "pic" },
      { name: "prompt", content: "a fox" },
      { name: "image", filename: "a", content: image },
    );
    const headers = { authorization: `Bearer ${CALLER_KEY}`, "content-type": FORM_TYPE };
    const response = await gateway.fetch(new Request(EDITS, { method: "POST", headers, body }));
    expect(response.status).toBe(200);
    const length = expect.any(Number);
    expect(seen).toHaveLength(2);
    expect(seen[0]).toEqual({
      type: "multipart/form-data",
      declared: String(bytesOf(seen[0])),
      length,
      hasImage: true,
    });
    expect(seen[1]).toEqual(seen[0]);
  });

  it("does not hang if the provider responds before it has read the form", async () => {
    const server = await startServer((req, res) => {
      req.pause();
      res.writeHead(400, { "content-type": "application/json", connection: "close" });
      res.end(JSON.stringify({ reason: "too_large" }));
    });
    onTestFinished(() => server.close());
    const { gateway } = open(made, {
      fetch: undefined,
      channels: [{ id: "c", family: "painter", apiKey: "painter-key-0001", baseUrl: server.url }],
    });
    const content = Buffer.concat([PNG, Buffer.alloc(20_000_000)]);
    const body = formBytes({ name: "model", content: "pic" }, { name: "image", filename: "a", content });
    const headers = { authorization: `Bearer ${CALLER_KEY}`, "content-type": FORM_TYPE };
    const response = await gateway.fetch(new Request(EDITS, { method: "POST", headers, body }));
    expect([400, 502]).toContain(response.status);
  });
});

describe("a mask", () => {
  it.each([
    ["a link", { mask: "https://x.test/m.png" }],
    ["an object with a link", { mask: { image_url: "https://x.test/m.png" } }],
  ])("reaches the family in JSON as %s", async (_what, fields) => {
    const { gateway, sent } = open((request) =>
      request.method === "GET" ? new Response(PNG) : made(request),
    );
    const body = JSON.stringify({ model: "pic", prompt: "a fox", image: PNG_URL, ...fields });
    const headers = { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" };
    expect((await gateway.fetch(new Request(EDITS, { method: "POST", headers, body }))).status).toBe(200);
    expect((await entriesOf(sent.at(-1))).at(-1)).toBe(`mask: image/png image.png ${BASE64}`);
  });

  it.each<[string, Parameters<ReturnType<typeof open>["edit"]>[0], string]>([
    ["a mask without an image", { mask: PNG }, "image"],
    ["a mask that is not an image", { image: PNG, mask: new Uint8Array([1, 2, 3]) }, "mask"],
    ["an empty mask", { image: PNG, mask: new Uint8Array() }, "mask"],
    ["a mask that is a text", { image: PNG, mask: "x" }, "mask"],
    ["two masks", { image: PNG, mask: [PNG, PNG] }, "mask"],
  ])("%s gets a 400", async (_what, parts, param) => {
    const { edit, sent } = open();
    const response = await edit(parts);
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject(refusal(param));
    expect(sent).toEqual([]);
  });

  it("is refused for a family that lists only the other one", async () => {
    const { edit } = open(made, { families: [{ ...painter, fields: { mask: "image" } }] });
    expect((await edit({ image: PNG, mask: PNG })).status).toBe(200);
    const response = await edit({ image: PNG, markup: PNG });
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject(refusal("markup"));
  });

  it("that a dialect does not take goes to another channel, and costs no attempt", async () => {
    const { edit, sent, records } = open(made, { dialects: ["plain", undefined] });
    expect((await edit({ image: PNG, mask: PNG })).status).toBe(200);
    expect(sent.map(({ headers }) => headers.get("x-key"))).toEqual(["painter-key-0001"]);
    expect(records).toMatchObject([{ channel: "c1", attempts: [{ channel: "c1" }] }]);
  });

  it("that no dialect takes gets the 400 of the family, and no record", async () => {
    const { edit, gateway, sent, records } = open(made, { dialects: ["plain"] });
    const response = await edit({ image: PNG, mask: PNG });
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject(refusal("mask"));
    expect([sent, records]).toEqual([[], []]);
    expect(await gateway.usage.balance("me")).toMatchObject({ held: "0" });
  });
});

describe("the response format of a family that delivers base64", () => {
  it.each([
    ["no format is named", {}, {}],
    ["b64_json is named", { response_format: "b64_json" }, {}],
    ["an option names url, which cannot be delivered", {}, { responseFormat: "url" }],
  ] as const)("is b64_json if %s", async (_what, fields, options) => {
    const { post } = open(made, options);
    expect((await post({ model: "pic", prompt: "a fox", ...fields })).body["data"]).toEqual([
      { b64_json: BASE64 },
    ]);
  });

  it("cannot be url without a results store", async () => {
    const { post, sent } = open();
    const response = await post({ model: "pic", prompt: "a fox", response_format: "url" });
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject(refusal("response_format"));
    expect(response.text).toContain("b64_json");
    expect(sent).toEqual([]);
  });

  it("can be url with a results store", async () => {
    const store = new MemoryResults();
    const { post } = open(made, { results: { store } });
    const { body } = await post({ model: "pic", prompt: "a fox", response_format: "url" });
    expect(body["data"]).toEqual([{ url: expect.stringContaining("/v1/images/files/") }]);
    expect([...store.images.values()].map(({ bytes }) => Buffer.from(bytes))).toEqual([Buffer.from(PNG)]);
  });

  it("leaves the channel out if another one delivers links", async () => {
    const { post, sent } = open(() => Response.json({ ...MADE, pictures: ["https://painter.test/1.png"] }), {
      dialects: [undefined, "links"],
    });
    const { body } = await post({ model: "pic", prompt: "a fox", response_format: "url" });
    expect(body["data"]).toEqual([{ url: "https://painter.test/1.png" }]);
    expect(sent.map(({ headers }) => headers.get("x-key"))).toEqual(["painter-key-0001"]);
  });

  it("is that of the first channel if nothing is named", async () => {
    const links = open(makeLink, { dialects: ["links", undefined] });
    expect((await links.post({ model: "pic", prompt: "a fox" })).body["data"]).toEqual([
      { url: "https://93.184.216.34/1.png" },
    ]);
    const base64 = open(makeLink, { dialects: [undefined, "links"] });
    expect((await base64.post({ model: "pic", prompt: "a fox" })).body["data"]).toEqual([
      { b64_json: BASE64 },
    ]);
  });
});

describe("reference images for a service that takes only bytes", () => {
  it("are downloaded without the key, each once, also for a second attempt", async () => {
    let attempts = 0;
    const { edit, sent } = open(
      (request) => {
        if (request.method === "GET") return new Response(request.url.endsWith("a") ? PNG : JPEG);
        return attempts++ === 0 ? new Response("", { status: 503 }) : made(request);
      },
      { dialects: [undefined, undefined] },
    );
    const response = await edit({ image: ["https://x.test/a", "https://x.test/b", "https://x.test/a"] });
    expect(response.status).toBe(200);
    const [first, second, ...posts] = sent;
    expect([first?.url, second?.url]).toEqual(["https://x.test/a", "https://x.test/b"]);
    expect([first, second].map((request) => request?.headers.get("x-key"))).toEqual([null, null]);
    expect(posts).toHaveLength(2);
    const jpeg = Buffer.from(JPEG).toString("base64");
    expect((await entriesOf(posts[1])).slice(1)).toEqual([
      `image[]: image/png image.png ${BASE64}`,
      `image[]: image/jpeg image.jpg ${jpeg}`,
      `image[]: image/png image.png ${BASE64}`,
    ]);
  });

  it.each([
    ["plain http", "http://x.test/a.png"],
    ["a private address", "https://10.0.0.1/a.png"],
    ["a loopback name", "https://localhost/a.png"],
    ["the provider's own address over http", "http://127.0.0.1:1/a.png"],
  ])("are refused with %s", async (_what, link) => {
    const { edit, sent, records } = open(provide(() => new Response(PNG)));
    const response = await edit({ image: [PNG_URL, link] });
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject(refusal("image[1]"));
    expect([sent, records]).toEqual([[], []]);
  });

  it.each([
    ["a page", () => new Response("<html>")],
    ["a 404", () => new Response(PNG, { status: 404 })],
    ["a redirect", () => new Response(null, { status: 302, headers: { location: "https://10.0.0.1/" } })],
    ["nothing", () => new Response(null)],
    ["too many bytes", () => new Response(Buffer.concat([PNG, Buffer.alloc(2_000)]))],
  ])("that are %s get a 400 that names the image", async (_what, respond) => {
    const { edit, records } = open(provide(respond), { bodyLimits: { file: 1_000 } });
    const response = await edit({ image: "https://x.test/a.png" });
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject(refusal("image[0]"));
    expect(records).toEqual([]);
  });

  it("count in the bytes in flight", async () => {
    const { edit } = open(
      provide(() => new Response(Buffer.concat([PNG, Buffer.alloc(50_000)]))),
      {
        maxBytesInFlight: 20_000,
      },
    );
    const response = await edit({ image: "https://x.test/a.png" });
    expect(response.status).toBe(503);
    expect(response.body).toMatchObject({ error: { code: "overloaded" } });
  });
});

describe("a failure that a provider reports", () => {
  it.each([
    ["content", 400, 1, { error: { code: "blocked", message: "Refused: blocked" } }],
    ["server", 502, 1, { error: { code: "blocked", message: "Refused: blocked" } }],
    ["busy", 200, 2, { data: [{ b64_json: BASE64 }] }],
  ])("with status 200 and the kind %s gets a %d after %d calls", async (what, status, calls, body) => {
    let count = 0;
    const { post, sent } = open(
      (request) => (count++ === 0 ? Response.json({ refused: { why: "blocked", what } }) : made(request)),
      { dialects: [undefined, undefined] },
    );
    const response = await post({ model: "pic", prompt: "a fox" });
    expect([response.status, sent.length]).toEqual([status, calls]);
    expect(response.body).toMatchObject(body);
  });

  it("is charged by what it reports as used", async () => {
    const { post, records } = open(
      () =>
        Response.json({
          refused: { why: "blocked", what: "content" },
          tokens: { output_tokens: 0, total_tokens: 400, input_text_tokens: 400 },
        }),
      {
        billing: {
          model_details: {
            pic: { pricing_mode: "per-token", output_token_price: "30", input_text_token_price: "5" },
          },
        },
      },
    );
    expect((await post({ model: "pic", prompt: "a fox" })).status).toBe(400);
    expect(records).toMatchObject([{ status: 400, images: 0, charge: "0.002", errorCode: "blocked" }]);
  });

  it.each([
    [{ "x-wait": "7" }, "7"],
    [{ "retry-after-ms": "2500" }, "3"],
    [{ "retry-after-ms": "2500", "retry-after": "60" }, "3"],
    [{ "retry-after": "60" }, "60"],
    [{ "x-wait": "7", "retry-after": "60" }, "7"],
  ])("with the headers %j delays a repeat for %s seconds", async (headers, seconds) => {
    const { post } = open(() =>
      Response.json({}, { status: 429, headers: headers as Record<string, string> }),
    );
    const response = await post({ model: "pic", prompt: "a fox" });
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, seconds]);
  });
});
