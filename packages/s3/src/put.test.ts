import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { S3Error } from "./error.js";
import { errorXml, type Fault } from "./testing/fake-s3.js";
import { MIB, makeImage, setUp, toChunks } from "./testing/setup.js";

/** Two parts. */
const LARGE_BYTES = 8 * MIB + 5;
const LARGE = ["CreateMultipartUpload", "UploadPart", "UploadPart", "CompleteMultipartUpload"];

describe("put", () => {
  it.each([
    { bytes: 0, known: true, operations: ["PutObject"] },
    { bytes: 1, known: false, operations: ["PutObject"] },
    { bytes: 100_000, known: false, operations: ["PutObject"] },
    { bytes: 100_000, known: true, operations: ["PutObject"] },
    { bytes: 8 * MIB, known: true, operations: ["PutObject"] },
    { bytes: 8 * MIB, known: false, operations: ["PutObject"] },
    { bytes: 8 * MIB + 1, known: true, operations: LARGE },
    { bytes: 8 * MIB + 1, known: false, operations: LARGE },
    { bytes: 16 * MIB, known: false, operations: LARGE },
    { bytes: 20 * MIB, known: true, operations: [...LARGE.slice(0, 3), ...LARGE.slice(2)] },
  ])("stores $bytes bytes (length known: $known) with $operations", async ({ bytes, known, operations }) => {
    const { server, store } = await setUp({ prefix: "it's a+b/图/" });
    const image = makeImage(bytes, known ? {} : { byteLength: undefined });

    await store.put(image);

    expect(server.operations()).toEqual(operations);
    expect(server.objects.get(`it's a+b/图/${image.id}`)?.bytes.equals(image.bytes)).toBe(true);
    expect(server.uploads.size).toBe(0);
    for (const { headers, byteLength, operation } of server.requests) {
      if (operation === "CreateMultipartUpload") continue;
      expect(headers["content-length"]).toBe(String(byteLength));
      expect(headers["transfer-encoding"]).toBeUndefined();
    }
  });

  it.each([1, 1_000, 3 * MIB + 17, 9 * MIB, 30 * MIB])("joins chunks of %i bytes", async (chunkBytes) => {
    const { server, store } = await setUp();
    const image = makeImage(chunkBytes < 1_000 ? 5_000 : 18 * MIB, { chunkBytes, byteLength: undefined });

    await store.put(image);

    expect(server.objects.get(image.id)?.bytes.equals(image.bytes)).toBe(true);
  });

  it.each([1_000, 9 * MIB])("sends type, caching and the operator's headers with %i bytes", async (bytes) => {
    const { server, store } = await setUp({
      storageClass: "STANDARD_IA",
      headers: { "X-Amz-Server-Side-Encryption": "AES256" },
    });
    const image = makeImage(bytes);

    await store.put(image);

    expect(server.objects.get(image.id)?.headers).toEqual({
      "content-type": "image/png",
      "cache-control": expect.stringMatching(/^private, max-age=(?:3600|359\d), immutable$/),
      "x-amz-storage-class": "STANDARD_IA",
      "x-amz-server-side-encryption": "AES256",
    });
  });

  it.each([
    ["image/svg+xml", "attachment"],
    ["application/octet-stream", "attachment"],
    ["text/html", "attachment"],
    ["image/png; a=b", "attachment"],
    ["image/webp", undefined],
    ["image/avif", undefined],
  ])("stores %s with the disposition %s", async (contentType, disposition) => {
    const { server, store } = await setUp({ publicUrl: "https://cdn.example.com" });
    const image = makeImage(10, { contentType });

    await store.put(image);

    const { headers } = server.objects.get(image.id) ?? {};
    expect(headers).toMatchObject({ "content-type": contentType });
    expect(headers?.["content-disposition"]).toBe(disposition);
    expect(headers?.["cache-control"]).toMatch(/^public, /);
  });

  it.each([1_000, 300_000, LARGE_BYTES])(
    "sends %i bytes with their length by another fetch",
    async (bytes) => {
      const { server, store } = await setUp({ fetch: (url, init) => fetch(url, init) });
      const image = makeImage(bytes);

      await store.put(image);

      expect(server.objects.get(image.id)?.bytes.equals(image.bytes)).toBe(true);
      const { headers, byteLength } =
        server.requests.find(({ url }) => /partNumber=1|\/\w+$/.test(url)) ?? {};
      expect(headers).toMatchObject({ "content-length": String(byteLength) });
    },
  );

  it("signs with a session token, and with credentials of a function that change", async () => {
    const tokens = ["token-1", "token/2+"];
    const { server, store } = await setUp({
      accessKeyId: undefined,
      secretAccessKey: undefined,
      credentials: async () => ({
        accessKeyId: "AKID-canary-41",
        secretAccessKey: "secret/canary+97==",
        sessionToken: server.sessionToken,
      }),
    });
    for (const token of tokens) {
      server.sessionToken = token;
      await store.put(makeImage(10));
    }

    expect(server.requests.map(({ headers }) => headers["x-amz-security-token"])).toEqual(tokens);
    expect(server.objects.size).toBe(2);
  });
});

it("waits for the time of retry-after", async () => {
  const { server, store } = await setUp();
  server.fail("PutObject", { kind: "respond", status: 429, headers: { "retry-after": "1" } });
  const start = performance.now();

  await store.put(makeImage(10));

  expect(performance.now() - start).toBeGreaterThan(990);
});

/** Each fault once, so that the second attempt succeeds. */
const PASSING: readonly [string, Fault][] = [
  ["a 500", { kind: "respond", status: 500, body: errorXml("InternalError") }],
  ["a 503 SlowDown", { kind: "respond", status: 503, body: errorXml("SlowDown") }],
  ["a 429", { kind: "respond", status: 429 }],
  ["a 502 of a proxy", { kind: "respond", status: 502, body: "<html><body>Bad gateway<br></html>" }],
  ["a lost connection", { kind: "reset" }],
  ["a connection that is lost after the request was carried out", { kind: "reset-after" }],
  ["no response", { kind: "hang" }],
  ["no response after the request was carried out", { kind: "hang-after" }],
];

describe.each(PASSING)("after %s", (_what, fault) => {
  it.each(["PutObject", "CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload"])(
    "%s is repeated",
    async (operation) => {
      // Other requests may take longer than the short time too, if the machine is slow.
      const isSilent = fault.kind === "hang" || fault.kind === "hang-after";
      const { server, store } = await setUp(isSilent ? { timeouts: { requestSeconds: 0.6 } } : {});
      const image = makeImage(operation === "PutObject" ? 1_000 : LARGE_BYTES);
      server.fail(operation, fault);

      await store.put(image);

      const sent = server.operations().filter((one) => one === operation).length;
      const expected = operation === "UploadPart" ? 3 : 2;
      expect(isSilent ? Math.min(sent, expected) : sent).toBe(expected);
      expect(server.objects.get(image.id)?.bytes.equals(image.bytes)).toBe(true);
      expect(server.uploads.size).toBe(0);
    },
  );
});

/** Faults that end the upload. */
const FINAL: readonly [string, Fault[], Partial<S3Error>][] = [
  [
    "a 403",
    [{ kind: "respond", status: 403, body: errorXml("AccessDenied") }],
    { status: 403, code: "AccessDenied" },
  ],
  ["a 400 without a document", [{ kind: "respond", status: 400 }], { status: 400, code: undefined }],
  ["a 501", [{ kind: "respond", status: 501, body: errorXml("NotImplemented") }], { status: 501 }],
  ["four 503", Array.from({ length: 4 }, () => ({ kind: "respond", status: 503 }) as const), { status: 503 }],
  [
    "four lost connections",
    Array.from({ length: 4 }, () => ({ kind: "reset" }) as const),
    { status: undefined },
  ],
  ["four lost responses", Array.from({ length: 4 }, () => ({ kind: "reset-after" }) as const), {}],
];

describe.each(FINAL)("%s", (_what, faults, expected) => {
  it.each([
    ["PutObject", 1_000],
    ["CreateMultipartUpload", LARGE_BYTES],
    ["UploadPart", LARGE_BYTES],
    ["CompleteMultipartUpload", LARGE_BYTES],
  ])("of %s is an error that leaves nothing", async (operation, bytes) => {
    const { server, store } = await setUp();
    server.fail(operation, ...faults);

    const error = await store.put(makeImage(bytes)).catch((reason: unknown) => reason);

    expect(error).toBeInstanceOf(S3Error);
    expect(error).toMatchObject({ operation, ...expected });
    expect([server.objects.size, server.uploads.size]).toEqual([0, 0]);
    expect(server.operations().filter((one) => one === operation)).toHaveLength(faults.length);
  });
});

describe("a success", () => {
  it.each([
    ["CreateMultipartUpload", "no upload id"],
    ["UploadPart", "no ETag"],
  ])("of %s with an empty response is an error that leaves nothing", async (operation, message) => {
    const { server, store } = await setUp();
    server.fail(operation, { kind: "respond-after", status: 200 });

    await expect(store.put(makeImage(LARGE_BYTES))).rejects.toThrow(message);
    expect([server.objects.size, server.uploads.size]).toEqual([0, 0]);
  });

  it("of CompleteMultipartUpload with an empty response is confirmed", async () => {
    const { server, store } = await setUp();
    const image = makeImage(LARGE_BYTES);
    server.fail("CompleteMultipartUpload", { kind: "respond-after", status: 200 });

    await store.put(image);

    expect(server.operations().slice(-3)).toEqual([
      "CompleteMultipartUpload",
      "CompleteMultipartUpload",
      "HeadObject",
    ]);
    expect(server.objects.get(image.id)?.bytes.equals(image.bytes)).toBe(true);
  });
});

describe("CompleteMultipartUpload", () => {
  it("is repeated after a 200 whose body is an error that may pass", async () => {
    const { server, store } = await setUp();
    const image = makeImage(LARGE_BYTES);
    const body = `\n\n   ${errorXml("InternalError")}`;
    server.fail(
      "CompleteMultipartUpload",
      { kind: "respond", status: 200, body },
      { kind: "respond", status: 200, body },
    );

    await store.put(image);

    expect(server.operations().filter((one) => one === "CompleteMultipartUpload")).toHaveLength(3);
    expect(server.objects.get(image.id)?.bytes.equals(image.bytes)).toBe(true);
  });

  it("is not repeated after a 200 whose body is another error", async () => {
    const { server, store } = await setUp();
    server.fail("CompleteMultipartUpload", { kind: "respond", status: 200, body: errorXml("InvalidPart") });

    await expect(store.put(makeImage(LARGE_BYTES))).rejects.toMatchObject({
      status: 200,
      code: "InvalidPart",
    });
    expect(server.operations().slice(-2)).toEqual(["AbortMultipartUpload", "DeleteObject"]);
    expect([server.objects.size, server.uploads.size]).toEqual([0, 0]);
  });

  it("fails if the service got another part than was sent", async () => {
    const { server, store } = await setUp();
    server.fail("UploadPart", { kind: "etag", etag: '"another"' });

    await expect(store.put(makeImage(LARGE_BYTES))).rejects.toMatchObject({
      status: 400,
      code: "InvalidPart",
    });
    expect(server.uploads.size).toBe(0);
  });

  it.each([
    ["nothing", undefined],
    ["an object of another length", Buffer.alloc(3)],
  ])("fails if the upload does not exist any more and the key has %s", async (_what, bytes) => {
    const { server, store } = await setUp();
    const image = makeImage(LARGE_BYTES);
    if (bytes !== undefined) server.objects.set(image.id, { bytes, headers: {} });
    server.fail(
      "CompleteMultipartUpload",
      { kind: "respond", status: 503 },
      { kind: "respond", status: 404, body: errorXml("NoSuchUpload") },
    );

    await expect(store.put(image)).rejects.toMatchObject({
      operation: "CompleteMultipartUpload",
      code: "NoSuchUpload",
    });
  });

  it("deletes the object even if the upload cannot be aborted", async () => {
    const { server, store } = await setUp();
    const refused = { kind: "respond", status: 403, body: errorXml("AccessDenied") } as const;
    server.fail("CompleteMultipartUpload", { kind: "reset-after" }, refused);
    server.fail("AbortMultipartUpload", refused);

    await expect(store.put(makeImage(LARGE_BYTES))).rejects.toThrow("may remain");
    expect(server.objects.size).toBe(0);
  });
});

async function* breakOff(bytes: number): AsyncGenerator<Uint8Array> {
  yield* toChunks(new Uint8Array(bytes), 65_536);
  throw new Error("the provider hung up");
}

const never = (): Promise<never> => new Promise(() => undefined);

describe("a source", () => {
  it.each([0, 1_000, 9 * MIB, 20 * MIB])("that breaks off after %i bytes leaves nothing", async (bytes) => {
    const { server, store } = await setUp();

    await expect(store.put(makeImage(0, { body: breakOff(bytes), byteLength: undefined }))).rejects.toThrow(
      "the provider hung up",
    );
    expect([server.objects.size, server.uploads.size]).toEqual([0, 0]);
  });

  it.each([
    [1_000, 1_001, "has 1000 bytes instead of 1001"],
    [1_001, 1_000, "at least 1001 bytes instead of 1000"],
    [9 * MIB, 9 * MIB + 1, "bytes instead of"],
    [9 * MIB + 1, 9 * MIB, "bytes instead of"],
    [9 * MIB, 1_000, "bytes instead of 1000"],
  ])("of %i bytes that should have %i leaves nothing", async (bytes, byteLength, message) => {
    const { server, store } = await setUp();

    await expect(store.put(makeImage(bytes, { byteLength }))).rejects.toThrow(message);
    expect([server.objects.size, server.uploads.size]).toEqual([0, 0]);
  });

  it("is closed if the upload fails while it waits for its next bytes", async () => {
    const { server, store } = await setUp();
    let isClosed = false;
    const bytes = new Uint8Array(10 * MIB);
    const source = {
      parts: 0,
      [Symbol.asyncIterator]() {
        return this;
      },
      next(): Promise<IteratorResult<Uint8Array>> {
        return this.parts++ === 0
          ? Promise.resolve({ done: false, value: bytes })
          : new Promise(() => undefined);
      },
      async return(): Promise<IteratorResult<Uint8Array>> {
        isClosed = true;
        return { done: true, value: undefined };
      },
    };
    server.fail("UploadPart", { kind: "respond", status: 403, body: errorXml("AccessDenied") });

    await expect(store.put(makeImage(0, { body: source, byteLength: undefined }))).rejects.toThrow(
      "AccessDenied",
    );
    expect(isClosed).toBe(true);
    expect(server.uploads.size).toBe(0);
  });
});

describe("an aborted signal", () => {
  it.each([
    ["PutObject", 1_000, "hang"],
    ["PutObject", 1_000, "hang-after"],
    ["CreateMultipartUpload", LARGE_BYTES, "hang-after"],
    ["UploadPart", LARGE_BYTES, "hang"],
    ["CompleteMultipartUpload", LARGE_BYTES, "hang"],
    ["CompleteMultipartUpload", LARGE_BYTES, "hang-after"],
  ] as const)(
    "during %s of %i bytes (%s) ends the upload and leaves nothing",
    async (operation, bytes, kind) => {
      const { server, store } = await setUp();
      const controller = new AbortController();
      server.fail(operation, { kind });
      const putting = store.put(makeImage(bytes, { signal: controller.signal }));
      putting.catch(() => undefined);
      await expect.poll(() => server.operations()).toContain(operation);
      await wait(50);
      const start = Date.now();
      controller.abort(new Error("no longer needed"));

      await expect(putting).rejects.toThrow("no longer needed");
      expect(Date.now() - start).toBeLessThan(10_000);
      expect([server.objects.size, server.uploads.size]).toEqual([0, 0]);
    },
  );

  it("while the source waits ends the upload", async () => {
    const { store } = await setUp();
    const body = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }) };
    const signal = AbortSignal.timeout(50);

    await expect(store.put(makeImage(0, { body, byteLength: undefined, signal }))).rejects.toThrow("timeout");
  });

  it("before the upload sends nothing", async () => {
    const { server, store } = await setUp();

    await expect(
      store.put(makeImage(10, { signal: AbortSignal.abort(new Error("before")) })),
    ).rejects.toThrow("before");
    expect(server.requests).toEqual([]);
  });
});

describe("an error of put", () => {
  it("says that a part may remain if the clean-up is refused", async () => {
    const { server, store } = await setUp();
    server.fail("UploadPart", { kind: "respond", status: 400, body: errorXml("BadDigest") });
    server.fail("AbortMultipartUpload", { kind: "respond", status: 403, body: errorXml("AccessDenied") });

    await expect(store.put(makeImage(LARGE_BYTES))).rejects.toMatchObject({
      code: "BadDigest",
      message: expect.stringMatching(/BadDigest .*may remain.*AbortMultipartUpload: 403 AccessDenied/s),
    });
  });

  it.each([
    ["a wrong secret", { secretAccessKey: "wrong-secret-canary" }, /^PutObject: 403 SignatureDoesNotMatch/],
    ["a wrong bucket", { bucket: "another" }, /^PutObject: 404 NoSuchBucket/],
    ["a wrong region", { region: "us-east-1" }, /^PutObject: 403 SignatureDoesNotMatch/],
  ])("with %s names the operation and the code, and no key", async (_what, options, message) => {
    const { store } = await setUp(options);
    const error = await store.put(makeImage(10)).catch((reason: unknown) => reason);

    expect((error as Error).message).toMatch(message);
    expect(error).toMatchObject({ requestId: "REQ-1" });
    expect(JSON.stringify(error) + String((error as Error).stack)).not.toMatch(/canary/);
  });

  it("does not show a message of the service that contains a key", async () => {
    const { server, store } = await setUp();
    const body = errorXml("InvalidAccessKeyId", "The key AKID-canary-41 does not exist.");
    server.fail("PutObject", { kind: "respond", status: 403, body });

    const error = await store.put(makeImage(10)).catch((reason: unknown) => reason);

    expect(error).toMatchObject({ status: 403, code: "InvalidAccessKeyId" });
    expect(String((error as Error).stack)).not.toContain("canary");
  });

  it("names the region of a bucket that is elsewhere, and does not follow the redirect", async () => {
    const { server, store } = await setUp();
    const headers = { location: `${server.url}/elsewhere`, "x-amz-bucket-region": "eu-west-3" };
    server.fail("PutObject", { kind: "respond", status: 301, headers, body: errorXml("PermanentRedirect") });

    await expect(store.put(makeImage(10))).rejects.toThrow(
      "301 PermanentRedirect The message of the service. The bucket is elsewhere, in eu-west-3.",
    );
    expect(server.requests).toHaveLength(1);
  });

  it("ends the attempts after retrySeconds and after maxRetries", async () => {
    const { server, store } = await setUp({
      maxRetries: 10,
      timeouts: { requestSeconds: 5, retrySeconds: 0.5 },
    });
    server.fail(
      "PutObject",
      ...Array.from({ length: 11 }, () => ({ kind: "respond", status: 503 }) as const),
    );

    await expect(store.put(makeImage(10))).rejects.toMatchObject({ status: 503 });
    expect(server.operations().filter((one) => one === "PutObject").length).toBeLessThan(6);

    const { server: second, store: without } = await setUp({ maxRetries: 0 });
    second.fail("PutObject", { kind: "respond", status: 503 });
    await expect(without.put(makeImage(10))).rejects.toMatchObject({ status: 503 });
    expect(second.operations()).toEqual(["PutObject", "DeleteObject"]);
  });

  it("is bounded by the time of a request if fetch or credentials never settle", async () => {
    const limits = { maxRetries: 0, timeouts: { requestSeconds: 0.1 } };
    const keys = { accessKeyId: undefined, secretAccessKey: undefined };
    for (const options of [{ fetch: never }, { ...keys, credentials: never }]) {
      const { store } = await setUp({ ...limits, ...options });

      await expect(store.put(makeImage(10))).rejects.toThrow("no response in 0.1 seconds");
    }
  });

  it("says what credentials must return", async () => {
    const keys = { accessKeyId: undefined, secretAccessKey: undefined };
    const { store, server } = await setUp({ ...keys, maxRetries: 0, credentials: () => ({}) as never });

    await expect(store.put(makeImage(10))).rejects.toThrow("credentials must return accessKeyId");
    expect(server.requests).toEqual([]);
  });

  it.each(["", "../x", "a/b", "a.b", "ü"])("refuses the id %j", async (id) => {
    const { store, server } = await setUp();

    await expect(store.put(makeImage(10, { id }))).rejects.toThrow("id of an image");
    expect(server.requests).toEqual([]);
  });
});
