import { createHash, createHmac, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { HttpRequest } from "@smithy/protocol-http";
import { SignatureV4 } from "@smithy/signature-v4";

export const BUCKET = "pictures";
export const REGION = "eu-test-1";
export const CREDENTIALS = { accessKeyId: "AKID-canary-41", secretAccessKey: "secret/canary+97==" };

/** The hash that the official signer is given. */
class Sha256 {
  readonly #hash;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash("sha256") : createHmac("sha256", toBuffer(secret));
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(toBuffer(data));
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }

  reset(): void {
    throw new Error("not used");
  }
}

function toBuffer(data: string | ArrayBuffer | ArrayBufferView): Uint8Array {
  if (typeof data === "string") return Buffer.from(data);
  return data instanceof ArrayBuffer
    ? new Uint8Array(data)
    : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

export interface FakeObject {
  readonly bytes: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

interface FakeUpload {
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly parts: Map<number, { readonly etag: string; readonly bytes: Buffer }>;
}

/** What the server does with one request. */
export type Fault =
  /** Responds without carrying out the request. */
  | {
      readonly kind: "respond";
      readonly status: number;
      readonly body?: string;
      readonly headers?: Record<string, string>;
    }
  /** Carries out the request and then responds like this. */
  | { readonly kind: "respond-after"; readonly status: number; readonly body?: string }
  /** Closes the connection before or after it has carried out the request. */
  | { readonly kind: "reset" | "reset-after" }
  /** Does not respond, before or after it has carried out the request. */
  | { readonly kind: "hang" | "hang-after" }
  /** Carries out the request and sends another ETag, or none. */
  | { readonly kind: "etag"; readonly etag: string | undefined };

export interface SeenRequest {
  readonly operation: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly byteLength: number;
}

/** A server with the part of S3 that the store uses. It checks each signature with the signer of the official SDK. */
export class FakeS3 {
  readonly objects = new Map<string, FakeObject>();
  readonly uploads = new Map<string, FakeUpload>();
  readonly requests: SeenRequest[] = [];
  /** The delay before each chunk of 64 KiB that the server reads or sends, in milliseconds. */
  chunkDelayMs = 0;
  /** False: the server forgets the bytes of parts. */
  keepsBytes = true;
  sessionToken: string | undefined;
  /** The number of connections since the beginning. */
  connectionsMade = 0;
  /** The number of bytes of bodies that were written to connections. */
  bytesSent = 0;
  readonly #faults = new Map<string, Fault[]>();
  readonly #server = createServer((request, response) => {
    this.#serve(request, response).catch((error: unknown) => {
      // A client that has closed its connection is not an error.
      if (!request.destroyed) response.writeHead(500).end(String(error));
    });
  });

  async listen(): Promise<string> {
    this.#server.on("connection", () => {
      this.connectionsMade++;
    });
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this.url;
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** The number of open connections. */
  connections(): Promise<number> {
    return new Promise((resolve) => this.#server.getConnections((_error, count) => resolve(count)));
  }

  /** The next requests of the operation get these faults, one each. */
  fail(operation: string, ...faults: readonly Fault[]): void {
    this.#faults.set(operation, [...(this.#faults.get(operation) ?? []), ...faults]);
  }

  operations(): string[] {
    return this.requests.map(({ operation }) => operation);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.url);
    const operation = operationOf(request.method ?? "", url);
    const seen = { operation, url: request.url ?? "", headers: request.headers };
    const fault = this.#faults.get(operation)?.shift();
    if (fault?.kind === "reset") {
      this.requests.push({ ...seen, byteLength: 0 });
      request.socket.destroy();
      return;
    }
    const { bytes, hash } = await this.#readBody(request);
    this.requests.push({ ...seen, byteLength: bytes.length });
    if (fault?.kind === "hang") return;
    if (fault?.kind === "respond") {
      response.writeHead(fault.status, { "content-type": "application/xml", ...fault.headers });
      response.end(request.method === "HEAD" ? "" : fault.body);
      return;
    }
    const problem = (await this.#verify(request, url)) ?? checkHash(request, hash);
    const result = problem ?? this.#carryOut(operation, url, request, { bytes, etag: `"${hash}"` });
    if (fault?.kind === "hang-after") return;
    if (fault?.kind === "reset-after") {
      request.socket.destroy();
      return;
    }
    const headers = { ...result.headers, "x-amz-request-id": "REQ-1" };
    if (fault?.kind === "etag") Object.assign(headers, { etag: fault.etag });
    const definedHeaders = Object.fromEntries(
      Object.entries(headers).filter(([, value]) => value !== undefined),
    );
    if (fault?.kind === "respond-after") {
      response.writeHead(fault.status).end(fault.body);
      return;
    }
    response.writeHead(result.status, definedHeaders);
    await this.#writeBody(
      response,
      request.method === "HEAD" ? Buffer.alloc(0) : Buffer.from(result.body ?? ""),
    );
  }

  async #readBody(request: IncomingMessage): Promise<{ bytes: Buffer; hash: string }> {
    const hash = createHash("sha256");
    const chunks: Buffer[] = [];
    const isPart = request.url?.includes("partNumber=") === true;
    for await (const chunk of request as AsyncIterable<Buffer>) {
      hash.update(chunk);
      if (this.keepsBytes || !isPart) chunks.push(chunk);
      if (this.chunkDelayMs > 0) await wait(this.chunkDelayMs);
    }
    return { bytes: Buffer.concat(chunks), hash: hash.digest("hex") };
  }

  async #writeBody(response: ServerResponse, body: Buffer): Promise<void> {
    for (let at = 0; at < body.length; at += 65_536) {
      if (this.chunkDelayMs > 0) await wait(this.chunkDelayMs);
      if (response.destroyed) return;
      this.bytesSent += Math.min(65_536, body.length - at);
      if (!response.write(body.subarray(at, at + 65_536))) {
        await new Promise<void>((resolve) => {
          const next = (): void => {
            response.off("drain", next).off("close", next);
            resolve();
          };
          response.on("drain", next).on("close", next);
        });
      }
    }
    response.end();
  }

  /** Signs the request again and compares. */
  async #verify(request: IncomingMessage, url: URL): Promise<Result | undefined> {
    const { sessionToken } = this;
    const credentials = { ...CREDENTIALS, ...(sessionToken !== undefined && { sessionToken }) };
    const signer = new SignatureV4({
      service: "s3",
      region: REGION,
      credentials,
      sha256: Sha256,
      uriEscapePath: false,
      applyChecksum: false,
    });
    const query = Object.fromEntries(url.searchParams);
    const authorization = request.headers.authorization ?? "";
    const names = /SignedHeaders=([^,]+)/.exec(authorization)?.[1] ?? query["X-Amz-SignedHeaders"] ?? "";
    const signed = names.split(";").map((name) => [name, String(request.headers[name])]);
    const http = new HttpRequest({
      method: request.method ?? "",
      protocol: "http:",
      hostname: "127.0.0.1",
      path: url.pathname,
      headers: Object.fromEntries(signed),
    });
    if (authorization !== "") {
      const signingDate = parseDate(String(request.headers["x-amz-date"]));
      const again = await signer.sign(Object.assign(http, { query }), { signingDate });
      return again.headers["authorization"] === authorization
        ? undefined
        : fail(403, "SignatureDoesNotMatch");
    }
    const rest = Object.entries(query).filter(([name]) => !name.startsWith("X-Amz-"));
    http.headers["X-Amz-Content-Sha256"] = "UNSIGNED-PAYLOAD"; // the signer moves it to the query
    const expiresIn = Number(query["X-Amz-Expires"]);
    const signingDate = parseDate(query["X-Amz-Date"] ?? "");
    const again = await signer.presign(Object.assign(http, { query: Object.fromEntries(rest) }), {
      expiresIn,
      signingDate,
    });
    if (again.query?.["X-Amz-Signature"] !== query["X-Amz-Signature"])
      return fail(403, "SignatureDoesNotMatch");
    return signingDate.getTime() + expiresIn * 1_000 < Date.now() ? fail(403, "AccessDenied") : undefined;
  }

  #carryOut(operation: string, url: URL, request: IncomingMessage, { bytes, etag }: Body): Result {
    const [, bucket = "", ...segments] = url.pathname.split("/");
    const key = decodeURIComponent(segments.join("/"));
    if (bucket !== BUCKET) return fail(404, "NoSuchBucket");
    const uploadId = url.searchParams.get("uploadId") ?? "";
    switch (operation) {
      case "PutObject":
        this.objects.set(key, { bytes, headers: metadataOf(request) });
        return { status: 200, headers: { etag } };
      case "GetObject":
      case "HeadObject":
        return this.#get(key, url, request);
      case "DeleteObject":
        this.objects.delete(key);
        return { status: 204 };
      case "CreateMultipartUpload":
        return this.#create(key, request);
      case "ListMultipartUploads":
        return this.#list(url.searchParams.get("prefix") ?? "");
    }
    const upload = this.uploads.get(uploadId);
    if (upload?.key !== key) return fail(404, "NoSuchUpload");
    switch (operation) {
      case "UploadPart":
        upload.parts.set(Number(url.searchParams.get("partNumber")), { bytes, etag });
        return { status: 200, headers: { etag } };
      case "AbortMultipartUpload":
        this.uploads.delete(uploadId);
        return { status: 204 };
      case "CompleteMultipartUpload":
        return this.#complete(uploadId, upload, bytes.toString());
      default:
        return fail(501, "NotImplemented");
    }
  }

  #get(key: string, url: URL, request: IncomingMessage): Result {
    const object = this.objects.get(key);
    if (object === undefined) return fail(404, "NoSuchKey");
    const { bytes } = object;
    const headers: Record<string, string> = { ...object.headers, "content-length": String(bytes.length) };
    for (const name of ["content-type", "content-disposition"]) {
      const changed = url.searchParams.get(`response-${name}`);
      if (changed !== null) headers[name] = changed;
    }
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "") ?? [];
    if (first === undefined || last === undefined) return { status: 200, headers, body: bytes };
    const part = bytes.subarray(Number(first), Number(last) + 1);
    const range = {
      "content-range": `bytes ${first}-${last}/${bytes.length}`,
      "content-length": String(part.length),
    };
    return { status: 206, headers: { ...headers, ...range }, body: part };
  }

  #create(key: string, request: IncomingMessage): Result {
    const id = `${randomBytes(6).toString("hex")}&"<id>`;
    this.uploads.set(id, { key, headers: metadataOf(request), parts: new Map() });
    const escaped = id
      .replace("&", "&amp;")
      .replace('"', "&quot;")
      .replace("<", "&#60;")
      .replace(">", "&#x3E;");
    const root = 'InitiateMultipartUploadResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"';
    return {
      status: 200,
      body: xml(`<${root}><Key>k</Key><UploadId>${escaped}</UploadId></InitiateMultipartUploadResult>`),
    };
  }

  #list(prefix: string): Result {
    const rows = [...this.uploads].filter(([, { key }]) => key.startsWith(prefix));
    const uploads = rows.map(
      ([id, { key }]) => `<Upload><Key>${key}</Key><UploadId><![CDATA[${id}]]></UploadId></Upload>`,
    );
    return {
      status: 200,
      body: xml(`<ListMultipartUploadsResult>${uploads.join("")}</ListMultipartUploadsResult>`),
    };
  }

  #complete(uploadId: string, upload: FakeUpload, body: string): Result {
    const parts = [...body.matchAll(/<Part><PartNumber>(\d+)<\/PartNumber><ETag>([^<]*)<\/ETag><\/Part>/g)];
    const found = parts.map(([, number, etag]) => {
      const part = upload.parts.get(Number(number));
      return part?.etag === etag?.replaceAll("&quot;", '"') ? part : undefined;
    });
    if (found.length === 0 || found.includes(undefined)) return fail(400, "InvalidPart");
    const bytes = found.map((part) => part?.bytes ?? Buffer.alloc(0));
    if (this.keepsBytes && bytes.slice(0, -1).some(({ length }) => length < 5 * 1024 * 1024))
      return fail(400, "EntityTooSmall");
    this.objects.set(upload.key, { bytes: Buffer.concat(bytes), headers: upload.headers });
    this.uploads.delete(uploadId);
    return {
      status: 200,
      body: xml(
        "<CompleteMultipartUploadResult><ETag>&quot;x-2&quot;</ETag></CompleteMultipartUploadResult>",
      ),
    };
  }
}

interface Body {
  readonly bytes: Buffer;
  /** Not the MD5 hash, as in S3: the server has the other hash already, and clients must not interpret an ETag. */
  readonly etag: string;
}

interface Result {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** An error document of S3. */
export function errorXml(code: string, message = "The message of the service."): string {
  return xml(`<Error><Code>${code}</Code><Message>${message}</Message><RequestId>REQ-1</RequestId></Error>`);
}

const xml = (content: string): string => `<?xml version="1.0" encoding="UTF-8"?>\n${content}`;
const fail = (status: number, code: string): Result => ({ status, body: errorXml(code) });

function operationOf(method: string, url: URL): string {
  const isUpload = url.searchParams.has("uploadId");
  const isBucket = url.pathname.split("/").length < 4 && url.pathname.endsWith("/");
  if (isBucket)
    return method === "GET" && url.searchParams.has("uploads") ? "ListMultipartUploads" : "unknown";
  if (method === "PUT") return isUpload ? "UploadPart" : "PutObject";
  if (method === "POST") return isUpload ? "CompleteMultipartUpload" : "CreateMultipartUpload";
  if (method === "DELETE") return isUpload ? "AbortMultipartUpload" : "DeleteObject";
  return method === "HEAD" ? "HeadObject" : "GetObject";
}

function checkHash(request: IncomingMessage, hash: string): Result | undefined {
  const claimed = request.headers["x-amz-content-sha256"];
  if (claimed === undefined || claimed === hash) return undefined;
  return fail(400, "XAmzContentSHA256Mismatch");
}

function metadataOf({ headers }: IncomingMessage): Record<string, string> {
  const kept = Object.entries(headers).filter(
    ([name]) =>
      /^(?:content-type|content-disposition|cache-control)$/.test(name) ||
      /^x-amz-(?!date|content|security)/.test(name),
  );
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
}

function parseDate(date: string): Date {
  return new Date(date.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3:$4:$5Z"));
}
