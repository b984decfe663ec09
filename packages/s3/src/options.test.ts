import { describe, expect, it } from "vitest";
import { S3OptionsError, type S3StoreOptions } from "./options.js";
import { createS3Store } from "./store.js";

const VALID = {
  region: "eu-central-1",
  bucket: "pictures",
  accessKeyId: "AKID-canary",
  secretAccessKey: "secret-canary",
} satisfies S3StoreOptions;

/** The paths of the problems, and the message. */
function problemsOf(options: unknown): { paths: string[]; message: string } {
  try {
    createS3Store(options as S3StoreOptions);
    return { paths: [], message: "" };
  } catch (error) {
    if (!(error instanceof S3OptionsError)) throw error;
    return { paths: error.problems.map(({ path }) => path), message: error.message };
  }
}

describe("createS3Store", () => {
  it.each([
    [{}],
    [{ endpoint: "https://0123.r2.cloudflarestorage.com", region: "auto" }],
    [{ endpoint: "http://127.0.0.1:9000/s3/", prefix: "a b/ü/c-", pathStyle: true }],
    [{ endpoint: "https://img.example.com", bucketEndpoint: true, pathStyle: false }],
    [{ sessionToken: "abc/+==", storageClass: "STANDARD_IA", publicUrl: "https://cdn.example.com/a/" }],
    [{ headers: { "x-amz-tagging": "a=b", "X-Amz-Acl": "public-read" }, maxRetries: 0 }],
    [{ timeouts: { requestSeconds: 0.1, retrySeconds: 0 }, fetch: () => Promise.reject(new Error("x")) }],
    [{ accessKeyId: undefined, secretAccessKey: undefined, credentials: () => VALID }],
  ])("accepts %j", (options) => {
    expect(problemsOf({ ...VALID, ...options })).toEqual({ paths: [], message: "" });
  });

  it.each([
    [{ region: undefined }, "region"],
    [{ region: "eu central" }, "region"],
    [{ region: "x/y" }, "region"],
    [{ bucket: undefined }, "bucket"],
    [{ bucket: "ab" }, "bucket"],
    [{ bucket: "Pictures" }, "bucket"],
    [{ bucket: "a/b/c" }, "bucket"],
    [{ bucket: "arn:aws:s3:::x" }, "bucket"],
    [{ endpoint: "s3.example.com" }, "endpoint"],
    [{ endpoint: "ftp://s3.example.com" }, "endpoint"],
    [{ endpoint: "https://key:canary@s3.example.com" }, "endpoint"],
    [{ endpoint: "https://s3.example.com/?a=canary" }, "endpoint"],
    [{ endpoint: "https://s3.example.com/#a" }, "endpoint"],
    [{ endpoint: "https://s3.example.com/a%2Fb" }, "endpoint"],
    [{ endpoint: "https://s3.example.com//a" }, "endpoint"],
    [{ endpoint: 9000 }, "endpoint"],
    [{ publicUrl: "//cdn" }, "publicUrl"],
    [{ pathStyle: "yes" }, "pathStyle"],
    [{ bucketEndpoint: true }, "bucketEndpoint"],
    [{ bucketEndpoint: true, pathStyle: true, endpoint: "https://a.example" }, "bucketEndpoint"],
    [{ accessKeyId: undefined }, "accessKeyId"],
    [{ accessKeyId: "" }, "accessKeyId"],
    [{ secretAccessKey: "canary\n" }, "secretAccessKey"],
    [{ sessionToken: "can ary" }, "sessionToken"],
    [{ credentials: () => VALID }, "credentials"],
    [{ accessKeyId: undefined, secretAccessKey: undefined, credentials: VALID }, "credentials"],
    [{ prefix: "/a" }, "prefix"],
    [{ prefix: "a//b" }, "prefix"],
    [{ prefix: "a/../b" }, "prefix"],
    [{ prefix: "./" }, "prefix"],
    [{ prefix: "a\u0000" }, "prefix"],
    [{ prefix: "\ud800" }, "prefix"],
    [{ prefix: "ü".repeat(257) }, "prefix"],
    [{ storageClass: "Glacier" }, "storageClass"],
    [{ headers: [], timeouts: 5 }, "timeouts"],
    [{ headers: "a" }, "headers"],
    [{ headers: { authorization: "canary" } }, 'headers["authorization"]'],
    [{ headers: { "X-Amz-Date": "canary" } }, 'headers["X-Amz-Date"]'],
    [{ headers: { "x-amz-content-sha256": "canary" } }, 'headers["x-amz-content-sha256"]'],
    [{ headers: { "x-amz-server-side-encryption-customer-key": "canary" } }, "headers["],
    [{ headers: { "x-amz-tagging": "a\r\nb" } }, 'headers["x-amz-tagging"]'],
    [{ headers: { "x-amz-tagging": " a" } }, 'headers["x-amz-tagging"]'],
    [{ timeouts: { requestSeconds: 0 } }, "timeouts.requestSeconds"],
    [{ timeouts: { requestSeconds: "5" } }, "timeouts.requestSeconds"],
    [{ timeouts: { retrySeconds: Number.NaN } }, "timeouts.retrySeconds"],
    [{ timeouts: { connectSeconds: 1 } }, "timeouts.connectSeconds"],
    [{ maxRetries: 1.5 }, "maxRetries"],
    [{ maxRetries: -1 }, "maxRetries"],
    [{ fetch: "fetch" }, "fetch"],
    [{ forcePathStyle: true }, "forcePathStyle"],
  ])("refuses %j and names %s", (changes, path) => {
    const { paths, message } = problemsOf({ ...VALID, ...changes });

    expect(paths.length).toBe(1);
    expect(paths[0]).toContain(path);
    expect(message).not.toContain("canary");
  });

  it.each([undefined, ""])("asks for the environment variable of a key that is %j", (accessKeyId) => {
    expect(problemsOf({ ...VALID, accessKeyId }).message).toBe(
      "The options of the S3 store are wrong:\n  accessKeyId is missing; is the environment variable set?",
    );
  });

  it("names all problems at once", () => {
    expect(problemsOf({ bucket: 5, maxRetries: -1, timeouts: { requestSeconds: -1 } }).paths).toEqual([
      "region",
      "bucket",
      "accessKeyId",
      "secretAccessKey",
      "timeouts.requestSeconds",
      "maxRetries",
    ]);
  });

  it.each([undefined, null, "s3://bucket"])("refuses %j as the options", (options) => {
    expect(problemsOf(options).message).toBe(
      "The options of the S3 store are wrong:\n  options must be an object.",
    );
  });

  it("has no sweep: a rule of the bucket deletes expired images", () => {
    expect("sweep" in createS3Store(VALID)).toBe(false);
  });
});
