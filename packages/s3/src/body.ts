/** The size of the pieces in which a body is given to `fetch`. */
const CHUNK_BYTES = 65_536;

/**
 * A request body that can be sent several times, with its length and its hash.
 *
 * `fetch` copies an array or a Blob, and the copies remain until the garbage collector runs: an image of 64 MiB then needs
 * 70 to 160 MiB, measured on Node 24. So on Node the body is a stream over the caller's memory. With a header
 * `content-length`, Node sends the stream with this length. Other runtimes ignore the header and would send the stream
 * in chunks, which S3 refuses; they get a Blob.
 */
export class RequestBody {
  readonly sha256: string;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  #blob: Blob | undefined;

  private constructor(bytes: Uint8Array<ArrayBuffer>, hash: string) {
    this.#bytes = bytes;
    this.sha256 = hash;
  }

  /** @param bytes must not change until the request has ended */
  static async of(bytes: Uint8Array<ArrayBuffer>): Promise<RequestBody> {
    return new RequestBody(bytes, await sha256(bytes));
  }

  /** The body for one attempt. `usesStreams`: the `fetch` is that of Node. */
  toInit(headers: Headers, usesStreams: boolean): RequestInit {
    if (usesStreams && this.#bytes.byteLength > CHUNK_BYTES) {
      headers.set("content-length", String(this.#bytes.byteLength));
      return { headers, body: toStream(this.#bytes), duplex: "half" };
    }
    this.#blob ??= new Blob([this.#bytes]);
    return { headers, body: this.#blob };
  }
}

/** True if the global `fetch` is that of Node. */
export function isNode(): boolean {
  return typeof navigator === "object" && navigator.userAgent.startsWith("Node.js/");
}

function toStream(bytes: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array> {
  let sent = 0;
  return new ReadableStream(
    {
      pull(controller) {
        if (sent === bytes.byteLength) return controller.close();
        controller.enqueue(bytes.subarray(sent, sent + CHUNK_BYTES));
        sent = Math.min(bytes.byteLength, sent + CHUNK_BYTES);
      },
    },
    { highWaterMark: 0 },
  );
}

/** The hash in hexadecimal digits, as signatures need it. */
async function sha256(body: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", body));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
