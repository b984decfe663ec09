import {
  assert,
  asyncProperty,
  constantFrom,
  nat,
  oneof,
  stringMatching,
  tuple,
  webPath,
  webQueryParameters,
} from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { GatewayOptions } from "../../gateway-options/options.js";
import { LINK_SECRET, MemoryResults } from "../../testing/memory-results.js";
import { createTestGateway } from "../../testing/test-gateway.js";
import type { ResultsOptions } from "./results-options.js";
import { makeLink } from "./signed-links.js";
import type { ResultStore, StoredImage } from "./store.js";

const NOW = Date.UTC(2026, 10, 22);
const ID = "0123456789abcdef0123456789abcdef";
const BYTES = Uint8Array.from({ length: 2_500 }, (_, index) => index % 251);
const BASE = "http://gateway.test";
const ANY_PAGE = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "accept-ranges, content-disposition, content-range, etag, x-request-id",
  "cross-origin-resource-policy": "cross-origin",
};

const linkTo = (id: string, expiresAt = new Date(NOW + 60_000), secret = LINK_SECRET, base = BASE): string =>
  makeLink(base, { id, expiresAt }, secret);

/** A gateway that serves one image. */
function serve(
  {
    contentType = "image/png",
    bytes = BYTES,
    store = new MemoryResults(),
    ...results
  }: Partial<ResultsOptions> & { contentType?: string; bytes?: Uint8Array; store?: ResultStore } = {},
  options: Partial<GatewayOptions> = {},
) {
  if (store instanceof MemoryResults) store.images.set(ID, { contentType, bytes });
  const requests: unknown[] = [];
  const { gateway, logs } = createTestGateway(
    undefined,
    { results: { store, ...results }, onRequest: (event) => requests.push(event), ...options },
    { now: () => NOW },
  );
  const get = (url = linkTo(ID), init: RequestInit = {}): Promise<Response> =>
    gateway.fetch(new Request(url, init));
  return { gateway, get, logs, requests, store };
}

const failing = (changed: Partial<ResultStore>): ResultStore => ({
  put: async () => {},
  open: async () => undefined,
  readSecrets: async () => [LINK_SECRET],
  ...changed,
});

/** An image whose body has these chunks and then never continues. */
function hangAfter(chunks: readonly Uint8Array[], byteLength = BYTES.length) {
  const rest = [...chunks];
  const stop = vi.fn<() => Promise<IteratorResult<Uint8Array>>>(async () => ({
    done: true,
    value: undefined,
  }));
  const image: StoredImage = {
    contentType: "image/png",
    byteLength,
    body: {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          const value = rest.shift();
          return value === undefined ? new Promise(() => {}) : Promise.resolve({ done: false, value });
        },
        return: stop,
      }),
    },
  };
  return { image, stop };
}

async function errorOf(response: Response): Promise<unknown> {
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  return error.code;
}

const withoutId = (response: Response): object => ({
  ...Object.fromEntries(response.headers),
  "x-request-id": "",
});

describe("GET /v1/images/files/{id}", () => {
  it("sends the image without an API key, and lets browsers keep it until the link expires", async () => {
    const { get, requests, logs } = serve();
    const response = await get();

    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toEqual({
      "content-type": "image/png",
      "content-length": "2500",
      "content-disposition": `inline; filename="${ID}.png"`,
      "accept-ranges": "bytes",
      etag: `"${ID}"`,
      "cache-control": "private, max-age=60, immutable",
      "x-content-type-options": "nosniff",
      "x-request-id": expect.stringMatching(/^req_/),
      ...ANY_PAGE,
    });
    expect(await response.bytes()).toEqual(BYTES);
    // It is not an image request.
    expect(requests).toEqual([]);
    expect(logs).toEqual([]);
  });

  it.each([["Bearer wrong"], ["Basic eDp5"], [""]])("ignores the authorization %j", async (authorization) => {
    expect((await serve().get(linkTo(ID), { headers: { authorization } })).status).toBe(200);
  });

  it("counts in no limit", async () => {
    const { get } = serve({}, { limits: { requestsPerMinute: 1, concurrent: 1 } });
    const statuses = await Promise.all(Array.from({ length: 5 }, async () => (await get()).status));
    expect(statuses).toEqual([200, 200, 200, 200, 200]);
  });

  it("sends an empty image", async () => {
    const response = await serve({ bytes: new Uint8Array() }).get();
    expect(response.status).toBe(200);
    expect((await response.bytes()).length).toBe(0);
  });

  it("responds to HEAD with the headers of GET, and reads no more than one byte", async () => {
    const { get, store } = serve();
    const [head, whole] = [await get(linkTo(ID), { method: "HEAD" }), await get()];
    expect(head.status).toBe(200);
    expect(withoutId(head)).toEqual(withoutId(whole));
    expect(await head.text()).toBe("");
    await whole.bytes();
    expect(store).toMatchObject({
      opened: [
        [ID, { first: 0, last: 0 }],
        [ID, undefined],
      ],
      openBodies: 0,
    });
  });

  it.each(["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])("refuses %s", async (method) => {
    const response = await serve().get(linkTo(ID), { method });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("GET, HEAD");
  });
});

describe("a link that gives no permission", () => {
  const [address = "", query = ""] = linkTo(ID).split("?");
  const other = linkTo("f".repeat(32));

  it.each<[string, string]>([
    ["without a query", address],
    ["with another signature", `${address}?expires=1795305660&signature=${"a".repeat(43)}`],
    ["with the signature of another image", `${address}?${other.split("?")[1] ?? ""}`],
    ["with another secret", linkTo(ID, undefined, "b".repeat(32))],
    ["to an image that does not exist", other],
    ["to an expired image with another secret", linkTo(ID, new Date(NOW - 1_000), "b".repeat(32))],
    ["with an id in upper case", linkTo(ID.toUpperCase())],
    ["with a longer id", linkTo(`${ID}0`)],
    ["with a shorter id", linkTo(ID.slice(1))],
    ["with an encoded id", `${address.replace(ID, `%30${ID.slice(1)}`)}?${query}`],
    ["with an encoded slash", linkTo(`..%2F..%2F${ID}`)],
    ["with a path", linkTo(`x/${ID}`)],
    ["with an encoded NUL", linkTo(`${ID}%00`)],
    ["with dots", linkTo("%2e%2e%2f%2e%2e%2fetc%2fpasswd")],
    ["with a backslash", linkTo("..%5c..%5csecret")],
    ["with a broken encoding", linkTo("%")],
    ["with an extension", linkTo(`${ID}.png`)],
    ["with a very long id", linkTo("a".repeat(15_000))],
  ])("%s gets the same 404 as every other", async (_how, link) => {
    const { get, store } = serve();
    const response = await get(link);
    const { "x-request-id": _id, ...headers } = Object.fromEntries(response.headers);

    expect(response.status).toBe(404);
    expect(headers).toEqual({ "content-type": "application/json", "cache-control": "no-store", ...ANY_PAGE });
    expect(await response.json()).toEqual({
      error: {
        message: "There is no image under this link. Use the link as it was returned.",
        type: "invalid_request_error",
        code: "file_not_found",
        param: null,
      },
    });
    // Only a valid link reaches the store.
    expect(store).toMatchObject({ opened: link === other ? [["f".repeat(32), undefined]] : [] });
  });

  it("is a 410 if it has expired, and the store is not called", async () => {
    const { get, store } = serve();
    const response = await get(linkTo(ID, new Date(NOW)));
    expect(response.status).toBe(410);
    expect(await errorOf(response)).toBe("file_expired");
    expect(store).toMatchObject({ opened: [] });
  });

  it("becomes valid again if its secret is among the secrets", async () => {
    const secrets = ["n".repeat(32), LINK_SECRET];
    expect((await serve({ secrets }).get()).status).toBe(200);
    expect((await serve({ secrets: ["n".repeat(32)] }).get()).status).toBe(404);
  });
});

describe("ranges", () => {
  it.each<[string, string, number, number]>([
    ["the first bytes", "bytes=0-99", 0, 99],
    ["one byte", "bytes=0-0", 0, 0],
    ["the last byte", "bytes=2499-2499", 2499, 2499],
    ["from a byte to the end", "bytes=1000-", 1000, 2499],
    ["more than there is", "bytes=2000-99999999999999999999", 2000, 2499],
    ["the last bytes", "bytes=-500", 2000, 2499],
    ["more last bytes than there are", "bytes=-9999", 0, 2499],
    ["the unit in upper case", "BYTES=1-2", 1, 2],
    ["spaces around it", "bytes= 1-2 ", 1, 2],
  ])("send %s: %s", async (_what, range, first, last) => {
    const { get, store } = serve();
    const response = await get(linkTo(ID), { headers: { range } });

    expect(response.status).toBe(206);
    expect(response.headers.get("content-range")).toBe(`bytes ${first}-${last}/2500`);
    expect(response.headers.get("content-length")).toBe(String(last - first + 1));
    expect(await response.bytes()).toEqual(BYTES.slice(first, last + 1));
    expect(store).toMatchObject({ openBodies: 0 });
  });

  it.each(["bytes=2500-", "bytes=2500-2600", "bytes=-0", "bytes=99999999999999999999-"])(
    "that have no byte get a 416: %s",
    async (range) => {
      const response = await serve().get(linkTo(ID), { headers: { range } });
      expect(response.status).toBe(416);
      expect(response.headers.get("content-range")).toBe("bytes */2500");
      expect(await errorOf(response)).toBe("range_not_satisfiable");
    },
  );

  it.each(
    [
      "bytes=2-1",
      "bytes=0-1,3-4",
      "bytes=0-1,",
      "bytes=",
      "bytes=-",
      "bytes=a-b",
      "bytes=0x1-2",
      "bytes=1.5-2",
      "bytes=--5",
      "bytes 0-1",
      "bytes",
      "items=0-1",
      `bytes=${"0-1,".repeat(2_000)}0-1`,
      "",
    ].map((range) => [range.slice(0, 20), range]),
  )("that the gateway does not serve get the whole image: %j", async (_start, range = "") => {
    const response = await serve().get(linkTo(ID), { headers: { range } });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-range")).toBeNull();
    expect((await response.bytes()).length).toBe(2_500);
  });

  it.each<[string, string, number]>([
    ["its own tag", `"${ID}"`, 206],
    ["another tag", `"${ID.replace("0", "1")}"`, 200],
    ["a weak tag", `W/"${ID}"`, 200],
    ["a date", "Sun, 22 Nov 2026 00:00:00 GMT", 200],
    ["nothing", "", 200],
  ])("count only if the image is unchanged: If-Range with %s", async (_what, ifRange, status) => {
    const response = await serve().get(linkTo(ID), { headers: { range: "bytes=0-9", "if-range": ifRange } });
    expect(response.status).toBe(status);
    expect((await response.bytes()).length).toBe(status === 206 ? 10 : 2_500);
  });

  it("do not count for HEAD", async () => {
    const response = await serve().get(linkTo(ID), { method: "HEAD", headers: { range: "bytes=0-9" } });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-length")).toBe("2500");
  });

  it("need a valid link", async () => {
    const response = await serve().get(linkTo(ID, undefined, "b".repeat(32)), {
      headers: { range: "bytes=0-9" },
    });
    expect(response.status).toBe(404);
  });
});

describe("If-None-Match", () => {
  it.each<[string, number]>([
    [`"${ID}"`, 304],
    [`W/"${ID}"`, 304],
    [`"x", "${ID}"`, 304],
    ["*", 304],
    ['"x"', 200],
    [ID, 200],
    ["", 200],
  ])("%j gets %i", async (tag, status) => {
    const response = await serve().get(linkTo(ID), { headers: { "if-none-match": tag } });
    expect(response.status).toBe(status);
    expect(response.headers.get("etag")).toBe(`"${ID}"`);
    expect((await response.bytes()).length).toBe(status === 304 ? 0 : 2_500);
  });

  it("needs a valid link", async () => {
    const headers = { "if-none-match": "*" };
    expect((await serve().get(linkTo(ID, undefined, "b".repeat(32)), { headers })).status).toBe(404);
    expect((await serve().get(linkTo(ID, new Date(NOW - 1)), { headers })).status).toBe(410);
  });
});

describe("the content type", () => {
  it.each<[string, string, string]>([
    ["image/png", "image/png", "png"],
    ["image/jpeg", "image/jpeg", "jpg"],
    ["image/webp", "image/webp", "webp"],
    ["image/gif", "image/gif", "gif"],
    ["image/avif", "image/avif", "avif"],
    ["Image/PNG ", "image/png", "png"],
  ])("%j is shown by browsers", async (contentType, sent, extension) => {
    const { headers } = await serve({ contentType }).get();
    expect(headers.get("content-type")).toBe(sent);
    expect(headers.get("content-disposition")).toBe(`inline; filename="${ID}.${extension}"`);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-security-policy")).toBeNull();
  });

  it.each<[string, string, string]>([
    ["image/svg+xml", "image/svg+xml", "svg"],
    ["text/html", "text/html", "bin"],
    ["application/octet-stream", "application/octet-stream", "bin"],
    ["application/xhtml+xml", "application/xhtml+xml", "bin"],
    ["image/unknown", "image/unknown", "bin"],
    ["text/html; charset=utf-8", "application/octet-stream", "bin"],
    ["image/png\r\nset-cookie: a=b", "application/octet-stream", "bin"],
    ["__proto__", "application/octet-stream", "bin"],
    ["constructor", "application/octet-stream", "bin"],
    ["", "application/octet-stream", "bin"],
  ])("%j is a download that runs nothing", async (contentType, sent, extension) => {
    for (const headers of [undefined, { range: "bytes=0-9" }]) {
      const response = await serve({ contentType }).get(linkTo(ID), headers && { headers });
      expect(response.headers.get("content-type")).toBe(sent);
      expect(response.headers.get("content-disposition")).toBe(`attachment; filename="${ID}.${extension}"`);
      expect(response.headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("set-cookie")).toBeNull();
    }
  });
});

const rejected = async (): Promise<never> => {
  throw new Error("no such bucket: secret-name");
};

describe("a store that fails", () => {
  it.each<[string, Partial<ResultStore>, RequestInit?]>([
    ["when it opens an image", { open: rejected }],
    ["when it opens an image for HEAD", { open: rejected }, { method: "HEAD" }],
    ["when it opens a range", { open: rejected }, { headers: { range: "bytes=0-1" } }],
    ["when it reads its secrets", { readSecrets: rejected }],
    ["because it has no valid secret", { readSecrets: async () => ["short"] }],
    [
      "synchronously",
      {
        open: () => {
          throw new Error("not a promise");
        },
      },
    ],
    [
      "when it reads the first bytes",
      { open: async () => ({ contentType: "image/png", byteLength: 5, body: failAtOnce() }) },
    ],
  ])("%s, is a 503 that says nothing about it", async (_when, changed, init) => {
    const { get, logs } = serve({ store: failing(changed) });
    const response = await get(linkTo(ID), init);
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("5");
    expect(await response.text()).not.toContain("secret-name");
    expect(logs).toMatchObject([
      { level: "error", fields: { imageId: ID }, message: "The store of results failed." },
    ]);
  });

  it("because it has more or fewer bytes than it says, breaks the response off", async () => {
    for (const byteLength of [2_400, 2_600]) {
      const { image } = hangAfter([BYTES.subarray(0, 1_000), BYTES.subarray(1_000)], byteLength);
      const end = { ...image, body: endAfter(image.body, 2) };
      const { get, logs } = serve({ store: failing({ open: async () => end }) });
      const response = await get();
      expect(response.status).toBe(200);
      await expect(response.bytes()).rejects.toThrow("bytes than it announced");
      expect(logs).toMatchObject([{ message: "The store of results failed while an image was sent." }]);
    }
  });
});

// oxlint-disable-next-line require-yield -- It fails before its first bytes.
async function* failAtOnce(): AsyncGenerator<Uint8Array> {
  throw new Error("gone");
}

/** The first chunks of a body, and then its end. */
async function* endAfter(body: AsyncIterable<Uint8Array>, count: number): AsyncGenerator<Uint8Array> {
  let left = count;
  for await (const chunk of body) {
    yield chunk;
    if (--left === 0) return;
  }
}

describe("a store that hangs", () => {
  it.each<[string, Partial<ResultStore>]>([
    ["when it opens an image", { open: () => new Promise(() => {}) }],
    ["when it reads its secrets", { readSecrets: () => new Promise(() => {}) }],
  ])("%s, is a 503 after ten seconds", async (_when, changed) => {
    vi.useFakeTimers();
    try {
      const { get } = serve({ store: failing(changed) });
      const response = get();
      await vi.advanceTimersByTimeAsync(10_000);
      expect((await response).status).toBe(503);
    } finally {
      vi.useRealTimers();
    }
  });

  it("in the middle of an image, breaks the response off and stops the store", async () => {
    vi.useFakeTimers();
    try {
      const { image, stop } = hangAfter([BYTES.subarray(0, 1_000)]);
      const { get } = serve({ store: failing({ open: async () => image }) });
      const bytes = (await get()).bytes();
      const failure = bytes.catch((error: unknown) => error);
      await vi.advanceTimersByTimeAsync(30_000);
      expect(String(await failure)).toContain("returned nothing for 30 s");
      expect(stop).toHaveBeenCalledOnce();
    } finally {
      vi.useRealTimers();
    }
  });

  it("and then opens the image after all, is told to stop", async () => {
    vi.useFakeTimers();
    try {
      const { image, stop } = hangAfter([]);
      const opening = Promise.withResolvers<StoredImage>();
      const { get } = serve({ store: failing({ open: () => opening.promise }) });
      const response = get();
      await vi.advanceTimersByTimeAsync(10_000);
      expect((await response).status).toBe(503);
      opening.resolve(image);
      await vi.advanceTimersByTimeAsync(0);
      expect(stop).toHaveBeenCalledOnce();
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("a client that stops reading", () => {
  it("ends the read of the store", async () => {
    const { get, store } = serve({ bytes: new Uint8Array(100_000) });
    const { body } = await get();
    const reader = body?.getReader();
    await reader?.read();
    expect(store).toMatchObject({ openBodies: 1 });
    await reader?.cancel();
    expect(store).toMatchObject({ openBodies: 0 });
  });

  it("is disconnected after responseIdleSeconds", async () => {
    const { get, store } = serve({ bytes: new Uint8Array(100_000) }, { responseIdleSeconds: 0.3 });
    const { body } = await get();
    const reader = body?.getReader();
    await reader?.read();
    await vi.waitFor(() => expect(store).toMatchObject({ openBodies: 0 }));
    await expect(
      (async () => {
        for (let read = 0; read < 200; read++) await reader?.read();
      })(),
    ).rejects.toThrow("read nothing");
  });

  it("gets nothing read ahead that it does not request", async () => {
    const reads = vi.fn<() => void>();
    const open = async (): Promise<StoredImage> => ({
      contentType: "image/png",
      byteLength: 1_000_000,
      body: (async function* () {
        for (;;) {
          reads();
          yield new Uint8Array(1_000);
        }
      })(),
    });
    const response = await serve({ store: failing({ open }) }).get();
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
    expect(reads.mock.calls.length).toBeLessThan(5);
    await response.body?.cancel();
  });
});

const handle = (options: Partial<GatewayOptions>, url: string, mountPath?: string) => {
  const { gateway } = createTestGateway(undefined, options, { now: () => NOW });
  return gateway.handle({
    method: "GET",
    url,
    mountPath,
    headers: new Headers(),
    body: null,
    signal: new AbortController().signal,
  });
};

describe("the path of stored images", () => {
  const create = (): Partial<GatewayOptions> => {
    const store = new MemoryResults();
    store.images.set(ID, { contentType: "image/png", bytes: BYTES });
    return { results: { store } };
  };
  const path = linkTo(ID, undefined, undefined, "");

  it.each<[string, string, string | undefined, Partial<GatewayOptions>]>([
    ["the root", path, undefined, {}],
    ["a mount path", `/ai${path}`, "/ai", {}],
    ["a base path", `/ai${path}`, undefined, { basePath: "/ai" }],
    ["doubled slashes", `/${path}`, undefined, {}],
    ["a slash at the end", path.replace("?", "/?"), undefined, {}],
  ])("is the gateway's: %s", async (_what, url, mountPath, options) => {
    const response = await handle({ ...create(), ...options }, url, mountPath);
    expect(response?.status).toBe(200);
  });

  it.each<[string, string, Partial<GatewayOptions>]>([
    ["below an unknown path", `/shop${path}`, create()],
    ["beside the base path", path, { ...create(), basePath: "/ai" }],
    ["without an id", "/v1/images/files", create()],
    ["without results", path, {}],
    [
      "with links of the store",
      path,
      { results: { store: { put: async () => {}, link: () => "https://cdn.test" } } },
    ],
  ])("is the host's %s", (_what, url, options) => {
    expect(handle(options, url)).toBeNull();
  });

  it.each<[string, string, Partial<GatewayOptions>]>([
    ["without an id", "/v1/images/files/", create()],
    ["without results", path, {}],
  ])("is a 404 of the gateway below its mount path %s", async (_what, url, options) => {
    expect(await handle(options, url, "/")).toMatchObject({ status: 404 });
  });

  it("is refused while the gateway closes", async () => {
    const { gateway, get } = serve();
    await gateway.close();
    const response = await get();
    expect(response.status).toBe(503);
    expect(await errorOf(response)).toBe("gateway_closed");
  });
});

/** The number of bytes that a body must have. Error bodies have any. */
function lengthOf({ status, headers }: Response, method: string, { length }: Uint8Array): number {
  if (method === "HEAD" || status === 304) return 0;
  if (status === 200) return BYTES.length;
  return status === 206 ? Number(headers.get("content-length")) : length;
}

describe("any request", () => {
  it("gets a response of the route, never a failure, and bytes only for a valid link", async () => {
    const { get, store } = serve();
    const [address = "", query = ""] = linkTo(ID).split("?");
    const hex = stringMatching(/^[\da-f]{1,40}$/);
    const number = oneof(constantFrom("", "0", "1", "2499", "2500", "-1", "1e3", "٣"), nat().map(String));
    const links = oneof(
      constantFrom(linkTo(ID), `${address}?${query}&x=1`, linkTo(ID, new Date(NOW))),
      webQueryParameters().map((other) => `${address}?${query.replace("&", `&${other}&`)}`),
      tuple(hex, webQueryParameters()).map(([id, other]) => `${BASE}/v1/images/files/${id}?${other}`),
      webPath().map((path) => `${BASE}/v1/images/files${path}?${query}`),
    );
    const ranges = tuple(
      constantFrom("bytes=", "bytes", "B=", ""),
      number,
      constantFrom("-", "--", ",", ""),
      number,
    );
    const tags = constantFrom(undefined, "*", `"${ID}"`, `W/"${ID}"`, '"', ",,", "x".repeat(5_000));
    const methods = constantFrom("GET", "GET", "HEAD", "POST");
    await assert(
      asyncProperty(links, ranges, tags, tags, methods, async (link, range, match, ifRange, method) => {
        const headers: Record<string, string> = { range: range.join("").replaceAll(/[^ -~]/g, "?") };
        if (match !== undefined) headers["if-none-match"] = match;
        if (ifRange !== undefined) headers["if-range"] = ifRange;
        const response = await get(link, { method, headers });
        const bytes = await response.bytes();
        expect([200, 206, 304, 404, 405, 410, 416]).toContain(response.status);
        const isJson = response.headers.get("content-type") === "application/json";
        expect(isJson).toBe(response.status >= 400);
        expect(bytes.length).toBe(lengthOf(response, method, bytes));
      }),
      { numRuns: 2_000 },
    );
    expect(store).toMatchObject({ openBodies: 0 });
  });
});

describe("expired images", () => {
  it("are deleted after the first request, and not again for an hour", async () => {
    const store = new MemoryResults();
    const { get, gateway } = serve({ store });
    expect(store.swept).toEqual([]);
    await get();
    await get();
    expect(store.swept).toEqual([new Date(NOW)]);
    await gateway.close();
  });

  it("are not waited for when the gateway closes, if the store hangs", async () => {
    vi.useFakeTimers();
    try {
      const { get, gateway } = serve({ store: failing({ sweep: () => new Promise(() => {}) }) });
      await get();
      const closed = gateway.close();
      await vi.advanceTimersByTimeAsync(3_000);
      expect(await closed).toBeUndefined();
    } finally {
      vi.useRealTimers();
    }
  });
});
