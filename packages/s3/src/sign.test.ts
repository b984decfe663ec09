import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import type { HttpRequest } from "@smithy/protocol-http";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { S3StoreOptions } from "./options.js";
import { encodeQuery, signRequest } from "./sign.js";
import { createS3Store } from "./store.js";

const ID = "0123456789abcdef0123456789abcdef";
const KEYS = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };
const TOKEN = "FwoGZXIvYXdzEBYaD//token+with/odd=characters==";
const DATE = new Date("2026-03-07T09:08:07.654Z");

/** The prefix of the key, and the options of both. */
const PREFIXES = [
  "",
  "images/",
  "a b/",
  "a+b/",
  "100%/%20/",
  "it's (a) *test*!/",
  "ünï/图片/😀/",
  "a=b&c=d/",
  "~tilde-_./",
  "q?#[]@:;,$/",
  '"<>\\^`{|}/',
  "no-slash-",
];
const HOSTS: readonly Partial<S3StoreOptions>[] = [
  { region: "us-east-1" },
  { region: "eu-central-1" },
  { region: "cn-north-1" },
  { region: "ap-southeast-2", bucket: "with.dots" },
  { region: "us-east-1", pathStyle: true },
  { region: "auto", endpoint: "https://0123abcd.r2.cloudflarestorage.com" },
  { region: "auto", endpoint: "https://0123abcd.eu.r2.cloudflarestorage.com", pathStyle: true },
  { region: "cn-hangzhou", endpoint: "https://s3.oss-cn-hangzhou.aliyuncs.com" },
  { region: "us-east-1", endpoint: "http://127.0.0.1:9000", pathStyle: true },
  { region: "us-east-1", endpoint: "http://minio.internal:9000/", pathStyle: true },
  { region: "us-east-1", endpoint: "https://proxy.example.com:8443/s3/v1", pathStyle: true },
  { region: "us-east-1", endpoint: "https://proxy.example.com:443/s3", pathStyle: false },
];

const BASE = { ...KEYS, region: "us-east-1", bucket: "my-bucket" };

/** The client of the official SDK with the same options. */
function createClient(options: Partial<S3StoreOptions>, more: S3ClientConfig = {}): S3Client {
  const { region, endpoint, pathStyle, sessionToken } = { ...BASE, ...options };
  return new S3Client({
    region,
    credentials: { ...KEYS, ...(sessionToken !== undefined && { sessionToken }) },
    ...(endpoint !== undefined && { endpoint }),
    ...(pathStyle !== undefined && { forcePathStyle: pathStyle }),
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    ...more,
  });
}

beforeEach(() => {
  vi.useFakeTimers({ now: DATE, toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe.each(HOSTS)("a presigned link with %j", (host) => {
  const bucket = host.bucket ?? BASE.bucket;

  it.each([
    ...PREFIXES.map((prefix) => ({ prefix, seconds: 86_400 })),
    { prefix: "images/", seconds: 1 },
    { prefix: "images/", seconds: 604_800 },
    { prefix: "images/", seconds: 3_600, sessionToken: TOKEN },
  ])("equals that of the official SDK for %j", async ({ prefix, seconds, ...rest }) => {
    const options = { ...BASE, ...host, ...rest, prefix };
    const command = new GetObjectCommand({ Bucket: bucket, Key: `${prefix}${ID}` });
    const expected = await getSignedUrl(createClient({ ...host, ...rest }), command, { expiresIn: seconds });

    const expiresAt = new Date(DATE.getTime() + seconds * 1_000);
    const link = await createS3Store(options).link({ id: ID, contentType: "image/png", expiresAt });

    expect(link).toBe(expected);
  });
});

/** The request that the official SDK sends, with every header. */
async function capture(client: S3Client, command: object): Promise<HttpRequest> {
  let sent: HttpRequest | undefined;
  client.middlewareStack.add(
    () => (args) => {
      sent = args.request as HttpRequest;
      throw new Error("captured");
    },
    { step: "deserialize", priority: "low" },
  );
  await expect(client.send(command as GetObjectCommand)).rejects.toThrow("captured");
  return sent as unknown as HttpRequest;
}

/** The headers that the official signer leaves out, and those that the signature sets. */
const UNSIGNED = /^(?:authorization|cache-control|user-agent|host|x-amz-date|x-amz-security-token)$/;

describe.each(HOSTS)("a signed request with %j", (host) => {
  const Bucket = host.bucket ?? BASE.bucket;
  const Key = `it's a+b/图片/${ID}`;
  const at = { Bucket, Key };
  const UploadId = "id/with+odd=chars&more ~";

  it.each([
    [
      "PutObject",
      new PutObjectCommand({ ...at, Body: "abc", ContentType: "image/png", CacheControl: "no-store" }),
    ],
    [
      "PutObject with metadata",
      new PutObjectCommand({ ...at, Body: "abc", StorageClass: "STANDARD_IA", Metadata: { a: "b  c" } }),
    ],
    [
      "PutObject with a disposition",
      new PutObjectCommand({ ...at, Body: "abc", ContentDisposition: "attachment", ACL: "public-read" }),
    ],
    ["GetObject", new GetObjectCommand(at)],
    ["GetObject with a range", new GetObjectCommand({ ...at, Range: "bytes=0-9" })],
    ["HeadObject", new HeadObjectCommand(at)],
    ["DeleteObject", new DeleteObjectCommand(at)],
    ["CreateMultipartUpload", new CreateMultipartUploadCommand({ ...at, ContentType: "image/png" })],
    ["UploadPart", new UploadPartCommand({ ...at, UploadId, PartNumber: 12, Body: "abc" })],
    ["AbortMultipartUpload", new AbortMultipartUploadCommand({ ...at, UploadId })],
    [
      "CompleteMultipartUpload",
      new CompleteMultipartUploadCommand({
        ...at,
        UploadId,
        MultipartUpload: { Parts: [{ ETag: '"a"', PartNumber: 1 }] },
      }),
    ],
    ["ListMultipartUploads", new ListMultipartUploadsCommand({ Bucket, Prefix: Key })],
  ])("has the signature of the official SDK for %s", async (_operation, command) => {
    for (const sessionToken of [undefined, TOKEN]) {
      const client = createClient({ ...host, ...(sessionToken !== undefined && { sessionToken }) });
      const { method, protocol, hostname, port, path, query, headers } = await capture(client, command);
      const address = port === undefined || port === 443 ? hostname : `${hostname}:${port}`;
      const kept = Object.entries(headers).filter(([name]) => !UNSIGNED.test(name.toLowerCase()));

      const signed = await signRequest(
        {
          method,
          url: `${protocol}//${address}${path}${encodeQuery(query as Record<string, string>)}`,
          headers: Object.fromEntries(kept),
        },
        { credentials: { ...KEYS, sessionToken }, region: host.region ?? BASE.region, date: DATE },
      );

      expect(signed.get("authorization")).toBe(headers["authorization"]);
    }
  });
});

describe("a presigned link", () => {
  it("of an SVG image or of an unknown type is downloaded, and equals that of the official SDK", async () => {
    for (const contentType of ["image/svg+xml", "application/octet-stream", "text/html; charset=utf-8"]) {
      const command = new GetObjectCommand({
        Bucket: "my-bucket",
        Key: ID,
        ResponseContentType: contentType,
        ResponseContentDisposition: "attachment",
      });
      const expected = await getSignedUrl(createClient({}), command, { expiresIn: 60 });
      const expiresAt = new Date(DATE.getTime() + 60_000);

      expect(await createS3Store(BASE).link({ id: ID, contentType, expiresAt })).toBe(expected);
    }
  });

  it.each([
    ["at least one second", -5_000, "1"],
    ["a whole second for a part of one", 1_001, "2"],
    ["at most 7 days", 8 * 86_400_000, "604800"],
  ])("is valid for %s", async (_what, milliseconds, seconds) => {
    const expiresAt = new Date(DATE.getTime() + milliseconds);
    const link = await createS3Store(BASE).link({ id: ID, contentType: "image/png", expiresAt });

    expect(new URL(link).searchParams.get("X-Amz-Expires")).toBe(seconds);
  });

  it("has no secret", async () => {
    const store = createS3Store({ ...BASE, sessionToken: TOKEN });
    const link = await store.link({ id: ID, contentType: "image/png", expiresAt: DATE });

    expect(decodeURIComponent(link)).not.toContain(KEYS.secretAccessKey);
  });
});

describe("the URL of an object", () => {
  it.each([
    [{ pathStyle: undefined, endpoint: "https://s3.amazonaws.com" }, "https://b-1.s3.amazonaws.com/"],
    [{ endpoint: "https://tos-s3-cn-beijing.volces.com" }, "https://b-1.tos-s3-cn-beijing.volces.com/"],
    [{ endpoint: "https://cos.ap-shanghai.myqcloud.com" }, "https://b-1.cos.ap-shanghai.myqcloud.com/"],
    [{ endpoint: "https://myamazonaws.com" }, "https://myamazonaws.com/b-1/"],
    [{ endpoint: "http://127.0.0.1:9000" }, "http://127.0.0.1:9000/b-1/"],
    [{ endpoint: "http://[::1]:9000/s3/" }, "http://[::1]:9000/s3/b-1/"],
    [{ endpoint: "https://img.example.com", bucketEndpoint: true }, "https://img.example.com/"],
    [{ endpoint: "https://s3.amazonaws.com", bucket: "a.b" }, "https://s3.amazonaws.com/a.b/"],
  ])("with %j begins with %s", async (options, begin) => {
    const store = createS3Store({ ...BASE, bucket: "b-1", ...options });
    const link = await store.link({ id: ID, contentType: "image/png", expiresAt: DATE });

    expect(link.slice(0, link.indexOf("?"))).toBe(begin + ID);
  });

  it("is that of the public address if there is one", async () => {
    const store = createS3Store({ ...BASE, prefix: "a b/", publicUrl: "https://cdn.example.com/x/" });

    expect(await store.link({ id: ID, contentType: "image/png", expiresAt: DATE })).toBe(
      `https://cdn.example.com/x/a%20b/${ID}`,
    );
    expect(store.maxLinkSeconds).toBeUndefined();
    expect(createS3Store(BASE).maxLinkSeconds).toBe(604_800);
  });
});
