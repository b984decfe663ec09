import type { ByteRange, StoredImage } from "@calotype/core/stores";
import { raced } from "./abort.js";
import { S3Error } from "./error.js";
import type { S3Client } from "./request.js";

const OPERATION = "GetObject";

/**
 * Opens an object. Its bytes are read from the service as fast as they are consumed.
 *
 * @param idleSeconds the longest time for one chunk
 * @throws S3Error, with the status 404 if there is none
 */
export function openObject(
  client: S3Client,
  key: string,
  range: ByteRange | undefined,
  idleSeconds: number,
): Promise<StoredImage> {
  const headers = range === undefined ? {} : { range: `bytes=${range.first}-${range.last}` };
  // A proxy that compresses the body would hide its length.
  const unsignedHeaders = { "accept-encoding": "identity" };
  return client.send(
    { operation: OPERATION, method: "GET", key, headers, unsignedHeaders },
    (response, controller) => {
      const { byteLength, skip, count } = readExtent(response, range);
      const contentType = response.headers.get("content-type") ?? "application/octet-stream";
      return {
        contentType,
        byteLength,
        body: new ObjectBody(response, controller, { skip, count, idleSeconds }),
      };
    },
  );
}

interface Extent {
  /** The number of bytes of the object. */
  readonly byteLength: number;
  /** The number of bytes of the body before the range. */
  readonly skip: number;
  readonly count: number;
}

function readExtent({ status, headers }: Response, range: ByteRange | undefined): Extent {
  const length = /^\d+$/.exec(headers.get("content-length") ?? "")?.[0];
  if (range !== undefined && status === 206) return readPart(headers.get("content-range"), range);
  if (length === undefined)
    throw new S3Error("the response has no length.", { operation: OPERATION, status });
  const byteLength = Number(length);
  if (range === undefined) return { byteLength, skip: 0, count: byteLength };
  // The service, or a proxy before it, sends the whole object.
  return { byteLength, skip: range.first, count: range.last - range.first + 1 };
}

/** Some servers send more than the range, for example the whole object for its first byte. */
function readPart(contentRange: string | null, range: ByteRange): Extent {
  const [, first = "", last = "", total = ""] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(contentRange ?? "") ?? [];
  if (total === "" || Number(first) > range.first || Number(last) < range.last) {
    throw new S3Error("the response has another range.", { operation: OPERATION, status: 206 });
  }
  return {
    byteLength: Number(total),
    skip: range.first - Number(first),
    count: range.last - range.first + 1,
  };
}

interface BodyOptions {
  readonly skip: number;
  readonly count: number;
  readonly idleSeconds: number;
}

/** A body that can be read once. Not a generator, whose `return()` would do nothing before the first `next()`. */
class ObjectBody implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array> {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  readonly #controller: AbortController;
  readonly #idleSeconds: number;
  #skip: number;
  #left: number;

  constructor(response: Response, controller: AbortController, { skip, count, idleSeconds }: BodyOptions) {
    this.#reader = response.body?.getReader();
    this.#controller = controller;
    this.#idleSeconds = idleSeconds;
    this.#skip = skip;
    this.#left = count;
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    while (this.#left > 0) {
      const chunk = await this.#readChunk();
      if (chunk === undefined) {
        await this.return();
        throw new S3Error("the image ended too early.", { operation: OPERATION });
      }
      const part = chunk.subarray(Math.min(this.#skip, chunk.byteLength)).subarray(0, this.#left);
      this.#skip -= Math.min(this.#skip, chunk.byteLength);
      this.#left -= part.byteLength;
      // The end of the body is read too: then the connection can be used again.
      if (this.#left === 0 && part.byteLength === chunk.byteLength) await this.#readChunk();
      if (part.byteLength > 0) return { done: false, value: part };
    }
    return this.return();
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#left = 0;
    this.#controller.abort();
    return { done: true, value: undefined };
  }

  async #readChunk(): Promise<Uint8Array | undefined> {
    const timer = setTimeout(() => {
      const message = `no byte of the image in ${this.#idleSeconds} seconds.`;
      this.#controller.abort(new S3Error(message, { operation: OPERATION }));
    }, this.#idleSeconds * 1_000);
    try {
      const read = this.#reader?.read();
      return read === undefined ? undefined : (await raced(read, this.#controller.signal)).value;
    } catch (cause) {
      await this.return();
      if (cause instanceof S3Error) throw cause;
      throw new S3Error("the connection was lost.", { operation: OPERATION, cause });
    } finally {
      clearTimeout(timer);
    }
  }
}
