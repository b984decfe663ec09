import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { errorXml } from "./testing/fake-s3.js";
import { MIB, makeImage, readAll, setUp } from "./testing/setup.js";

describe("open", () => {
  it("returns type, length and bytes", async () => {
    const { store } = await setUp({ prefix: "a+b/" });
    const image = makeImage(300_000, { contentType: "image/webp" });
    await store.put(image);

    const stored = await store.open(image.id);

    expect(stored).toMatchObject({ contentType: "image/webp", byteLength: 300_000 });
    expect((await readAll(stored?.body ?? neverRead())).equals(image.bytes)).toBe(true);
  });

  it.each([
    [0, 0],
    [0, 299_999],
    [299_999, 299_999],
    [70_000, 200_000],
  ])("reads the bytes from %i to %i", async (first, last) => {
    const { server, store } = await setUp();
    const image = makeImage(300_000);
    await store.put(image);

    const stored = await store.open(image.id, { first, last });

    expect(stored?.byteLength).toBe(300_000);
    expect((await readAll(stored?.body ?? neverRead())).equals(image.bytes.subarray(first, last + 1))).toBe(
      true,
    );
    expect(server.requests.at(-1)?.headers.range).toBe(`bytes=${first}-${last}`);
  });

  it.each([
    [0, 9],
    [70_000, 200_000],
    [299_990, 299_999],
  ])(
    "cuts the bytes from %i to %i out of the whole object if the service ignores ranges",
    async (first, last) => {
      const { store } = await setUp({
        fetch: (url, init) => {
          const headers = new Headers(init.headers);
          return fetch(url, { ...init, headers }).then(async (response) => {
            if (init.method !== "GET") return response;
            const length = { "content-length": "300000", "content-type": "image/png" };
            return new Response(image.bytes, { headers: length });
          });
        },
      });
      const image = makeImage(300_000);
      await store.put(image);

      const stored = await store.open(image.id, { first, last });

      expect(stored?.byteLength).toBe(300_000);
      expect((await readAll(stored?.body ?? neverRead())).equals(image.bytes.subarray(first, last + 1))).toBe(
        true,
      );
    },
  );

  it.each(["ffffffffffffffffffffffffffffffff", "../../etc/passwd", "a/b", ""])(
    "finds no image %j",
    async (id) => {
      const { store } = await setUp();

      expect(await store.open(id)).toBeUndefined();
    },
  );

  it("is an error if the bucket does not exist, or reading is not allowed", async () => {
    const { store } = await setUp({ bucket: "another" });
    await expect(store.open("a")).rejects.toMatchObject({ status: 404, code: "NoSuchBucket" });

    const { server, store: forbidden } = await setUp();
    server.fail("GetObject", { kind: "respond", status: 403, body: errorXml("AccessDenied") });
    await expect(forbidden.open("a")).rejects.toMatchObject({ status: 403, code: "AccessDenied" });
  });

  it("cuts the range out of a larger one", async () => {
    const { server, store } = await setUp();
    const headers = { "content-range": "bytes 10-19/100", "content-length": "10" };
    server.fail("GetObject", { kind: "respond", status: 206, headers, body: "abcdefghij" });

    const stored = await store.open("a", { first: 12, last: 14 });

    expect(stored?.byteLength).toBe(100);
    expect((await readAll(stored?.body ?? neverRead())).toString()).toBe("cde");
  });

  it.each([
    ["another range", 206, { "content-range": "bytes 1-5/10", "content-length": "5" }, "another range"],
    ["no range", 206, { "content-length": "5" }, "another range"],
    ["an unknown length", 206, { "content-range": "bytes 0-4/*" }, "another range"],
    ["no length", 200, { "transfer-encoding": "chunked" }, "no length"],
  ])("refuses a response with %s", async (_what, status, headers, message) => {
    const { server, store } = await setUp();
    server.fail("GetObject", { kind: "respond", status, headers, body: "12345" });

    await expect(store.open("a", { first: 0, last: 4 })).rejects.toThrow(message);
  });

  it("repeats a request that fails before the bytes", async () => {
    const { server, store } = await setUp();
    const image = makeImage(1_000);
    await store.put(image);
    server.fail("GetObject", { kind: "respond", status: 503 }, { kind: "reset" });

    const stored = await store.open(image.id);

    expect((await readAll(stored?.body ?? neverRead())).equals(image.bytes)).toBe(true);
  });

  it.each([
    ["that ends too early", 5, "the connection was lost"],
    ["that stops", 10, "no byte of the image in 0.3 seconds"],
  ])("reports a body %s", async (_what, length, message) => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new Uint8Array(5));
        if (length === 5) controller.error(new Error("reset"));
      },
    });
    const { store } = await setUp({
      timeouts: { requestSeconds: 0.3 },
      fetch: async () => new Response(body, { headers: { "content-length": "10" } }),
    });

    const stored = await store.open("a");

    await expect(readAll(stored?.body ?? neverRead())).rejects.toThrow(message);
  });

  it("reports a body that is shorter than its length", async () => {
    const { store } = await setUp({
      fetch: async () => new Response(new Uint8Array(5), { headers: { "content-length": "10" } }),
    });
    const stored = await store.open("a");

    await expect(readAll(stored?.body ?? neverRead())).rejects.toThrow("ended too early");
  });

  it.each(["before", "after"])("closes the connection if it is stopped %s the first bytes", async (when) => {
    const { server, store } = await setUp();
    const image = makeImage(8 * MIB);
    await store.put(image);
    server.chunkDelayMs = 5;
    const stored = await store.open(image.id);
    const iterator = (stored?.body ?? neverRead())[Symbol.asyncIterator]();
    if (when === "after") await iterator.next();

    expect(await iterator.return?.()).toEqual({ done: true, value: undefined });

    await expect.poll(() => server.connections()).toBe(0);
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  it("reads no faster than its reader", async () => {
    const { server, store } = await setUp();
    const image = makeImage(8 * MIB);
    await store.put(image);
    const stored = await store.open(image.id);
    const iterator = (stored?.body ?? neverRead())[Symbol.asyncIterator]();
    await iterator.next();
    await wait(300);

    expect(server.bytesSent).toBeLessThan(7 * MIB);
    await iterator.return?.();
  });

  it("uses one connection for images that are read one after the other", async () => {
    const { server, store } = await setUp();
    const image = makeImage(300_000);
    await store.put(image);
    const before = server.connectionsMade;
    for (let i = 0; i < 5; i++) await readAll((await store.open(image.id))?.body ?? neverRead());

    expect(server.connectionsMade - before).toBeLessThanOrEqual(1);
  });
});

describe("a link", () => {
  it.each([
    ["image/png", "image/png", null],
    ["image/svg+xml", "image/svg+xml", "attachment"],
    ["application/octet-stream", "application/octet-stream", "attachment"],
  ])("of %s works with fetch until it expires", async (contentType, type, disposition) => {
    const { store } = await setUp({ prefix: "ü+/" });
    const image = makeImage(70_000, { contentType });
    await store.put(image);

    const link = await store.link(image);
    const response = await fetch(link);

    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe(type);
    expect(response.headers.get("content-disposition")).toBe(disposition);
    expect(Buffer.from(await response.arrayBuffer()).equals(image.bytes)).toBe(true);
  });

  it("does not work for another object, with another time, or later", async () => {
    const { store } = await setUp();
    const [image, other] = [makeImage(10), makeImage(10)];
    await store.put(image);
    await store.put(other);
    const link = await store.link({ ...image, expiresAt: new Date(Date.now() + 900) });

    expect((await fetch(link)).status).toBe(200);
    expect((await fetch(link.replace(image.id, other.id))).status).toBe(403);
    expect((await fetch(link.replace("X-Amz-Expires=1&", "X-Amz-Expires=9&"))).status).toBe(403);
    await wait(2_100);
    expect((await fetch(link)).status).toBe(403);
  });

  it("is refused in the time of a request if the credentials never arrive", async () => {
    const { store } = await setUp({
      accessKeyId: undefined,
      secretAccessKey: undefined,
      credentials: () => new Promise(() => undefined),
      timeouts: { requestSeconds: 0.1 },
    });

    await expect(store.link(makeImage(1))).rejects.toThrow("timeout");
  });

  it("works with a session token", async () => {
    const { server, store } = await setUp({ sessionToken: "a/b+c==" });
    server.sessionToken = "a/b+c==";
    const image = makeImage(10);
    await store.put(image);

    expect((await fetch(await store.link(image))).status).toBe(200);
  });
});

function neverRead(): never {
  throw new Error("There is no image.");
}
