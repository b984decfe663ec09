import { GatewayError, unavailable } from "../../errors.js";
import { reportRefusal } from "../../events.js";
import type { GatewayRequest, GatewayResponse } from "../../http.js";
import { EXTENSIONS } from "../../images/form-body.js";
import type { Kernel } from "../../kernel/feature.js";
import type { RouteHost } from "../../kernel/route-host.js";
import { listsTag } from "../../request/entity-tag.js";
import { checkMethod, type GatewayRoute, readQuery } from "../../request/route.js";
import { renderError } from "../../responses/envelope.js";
import { finishWithin } from "../../util/async.js";
import { cutRange, parseRange, type RequestedRange } from "./byte-range.js";
import type { ServedImages } from "./results.js";
import { checkLink } from "./signed-links.js";
import type { ByteRange, StoredImage } from "./store.js";
import { StoredBody, stopReading } from "./stored-body.js";

/** What the route of stored images needs of the gateway. */
type FileServer = Pick<Kernel, "logger" | "refused" | "now" | "readerLimit"> & {
  readonly served: ServedImages;
};

/** The longest time that a store may take to open an image, or to read its secrets. */
const OPEN_MS = 10_000;

/** The id of a stored image. */
export const IMAGE_ID = /^[\da-f]{32}$/;

/** A stored image. Its id is not decoded, and may be anything. */
const FILES = /^(.*?)\/v1\/images\/files\/(.+)$/;

/** The route of `GET /v1/images/files/{id}`. */
export function createFilesRoute({ respond, start }: RouteHost<unknown>, parts: FileServer): GatewayRoute {
  return {
    pattern: FILES,
    respond: (request, [imageId = ""]) =>
      respond(request, (id) => {
        start();
        return respondWithFile(parts, imageId, { request, id });
      }),
  };
}

/**
 * Responds to `GET` and `HEAD` of `/v1/images/files/{id}`. The signature of the link is the permission: no API key is read.
 * Does not reject. Such a request counts in no limit, and `onRequest` and `onError` do not get it.
 *
 * @param id the request's id
 */
async function respondWithFile(
  parts: FileServer,
  imageId: string,
  { request, id }: { readonly request: GatewayRequest; readonly id: string },
): Promise<GatewayResponse> {
  try {
    checkMethod(request, "GET", "GET, HEAD");
    const secondsLeft = await checkPermission(parts, imageId, request);
    const file = new FileRequest(parts, { id, imageId, secondsLeft });
    return parts.readerLimit.watch(await file.respond(request));
  } catch (cause) {
    const error = reportRefusal(parts, cause, { id, request });
    if (error.code === "gateway_unavailable") {
      const fields = { requestId: id, imageId, err: error.cause };
      parts.logger.error(fields, "The store of results failed.");
    }
    return allowPages(renderError(error, { id, redact: String }));
  }
}

/**
 * Checks the link and returns for how many seconds it is valid. A wrong link and a missing image get the same response, so
 * that a client without a valid link learns nothing. The store is not called before the link is known to be valid.
 */
async function checkPermission(
  { served, now }: FileServer,
  id: string,
  request: GatewayRequest,
): Promise<number> {
  if (!IMAGE_ID.test(id)) throw fileNotFound();
  const secrets = await waitForStore(async () => served.readSecrets());
  const link = checkLink({ id, query: readQuery(request) }, secrets, now());
  if (link.kind === "valid") return link.secondsLeft;
  if (link.kind === "wrong") throw fileNotFound();
  throw new GatewayError("file_expired", "This link has expired.");
}

function fileNotFound(): GatewayError {
  return new GatewayError(
    "file_not_found",
    "There is no image under this link. Use the link as it was returned.",
  );
}

interface FileContext {
  /** The request's id. */
  readonly id: string;
  readonly imageId: string;
  /** For how many seconds the link is valid. */
  readonly secondsLeft: number;
}

/** A request with a valid link. */
class FileRequest {
  readonly #parts: FileServer;
  readonly #context: FileContext;
  /** An image never changes, so its id is its entity tag. */
  readonly #tag: string;

  constructor(parts: FileServer, context: FileContext) {
    this.#parts = parts;
    this.#context = context;
    this.#tag = `"${context.imageId}"`;
  }

  async respond({ method, headers }: GatewayRequest): Promise<GatewayResponse> {
    if (listsTag(headers.get("if-none-match"), this.#tag)) {
      return allowPages({ status: 304, headers: this.#headers(), body: "" });
    }
    if (method === "HEAD") {
      const image = await this.#look();
      return allowPages({ status: 200, headers: this.#describe(image), body: "" });
    }
    const range = parseRange(headers.get("range"));
    const ifRange = headers.get("if-range");
    const isWhole = range === undefined || (ifRange !== null && ifRange.trim() !== this.#tag);
    return isWhole ? this.#sendWhole() : this.#sendPart(range);
  }

  async #sendWhole(): Promise<GatewayResponse> {
    const image = await this.#open();
    const body = await this.#read(image, image.byteLength);
    return allowPages({ status: 200, headers: this.#describe(image), body });
  }

  async #sendPart(requested: RequestedRange): Promise<GatewayResponse> {
    const { byteLength } = await this.#look();
    const range = cutRange(requested, byteLength);
    if (range === undefined) {
      throw new GatewayError("range_not_satisfiable", `The image has only ${byteLength} bytes.`, {
        headers: { "content-range": `bytes */${byteLength}` },
      });
    }
    const image = await this.#open(range);
    const length = range.last - range.first + 1;
    const headers = {
      ...this.#describe(image),
      "content-length": String(length),
      "content-range": `bytes ${range.first}-${range.last}/${image.byteLength}`,
    };
    return allowPages({ status: 206, headers, body: await this.#read(image, length) });
  }

  /** Opens one byte, which is enough to know the type and the length. */
  async #look(): Promise<StoredImage> {
    const image = await this.#open({ first: 0, last: 0 });
    stopReading(image.body[Symbol.asyncIterator]());
    return image;
  }

  /** @throws GatewayError `file_not_found`, or `gateway_unavailable` if the store fails or takes too long */
  async #open(range?: ByteRange): Promise<StoredImage> {
    const { served } = this.#parts;
    const { imageId } = this.#context;
    const image = await waitForStore(
      async () => served.open(imageId, range),
      (late) => late && stopReading(late.body[Symbol.asyncIterator]()),
    );
    if (image === undefined) throw fileNotFound();
    return image;
  }

  async #read({ body }: StoredImage, byteLength: number): Promise<StoredBody> {
    const { logger } = this.#parts;
    const { id, imageId } = this.#context;
    try {
      return await StoredBody.open(body, byteLength, (err) =>
        logger.error({ requestId: id, imageId, err }, "The store of results failed while an image was sent."),
      );
    } catch (cause) {
      throw storeFailed(cause);
    }
  }

  #describe({ contentType, byteLength }: StoredImage): Record<string, string> {
    return {
      ...this.#headers(),
      ...toContentHeaders(contentType, this.#context.imageId),
      "content-length": String(byteLength),
      "accept-ranges": "bytes",
    };
  }

  #headers(): Record<string, string> {
    const { id, secondsLeft } = this.#context;
    return {
      etag: this.#tag,
      // Private: the link is a permission. A shared cache that ignores queries would give the image to everyone.
      "cache-control": `private, max-age=${secondsLeft}, immutable`,
      "x-request-id": id,
    };
  }
}

/**
 * Lets every web page show and read the response. It needs no permission beside the link, and a page that has the link could
 * read the image through a server of its own.
 */
function allowPages(response: GatewayResponse): GatewayResponse {
  return {
    ...response,
    headers: {
      ...response.headers,
      "access-control-allow-origin": "*",
      "access-control-expose-headers":
        "accept-ranges, content-disposition, content-range, etag, x-request-id",
      "cross-origin-resource-policy": "cross-origin",
    },
  };
}

/**
 * Waits for a store that may fail or hang.
 *
 * @param onLate gets a result that came too late
 * @throws GatewayError `gateway_unavailable`
 */
async function waitForStore<T>(begin: () => Promise<T>, onLate?: (result: T) => void): Promise<T> {
  try {
    return await finishWithin(begin(), { ms: OPEN_MS, createError: tookTooLong, onLate });
  } catch (cause) {
    throw storeFailed(cause);
  }
}

function tookTooLong(): Error {
  return new Error(`The store of results did not respond within ${OPEN_MS / 1000} s.`);
}

function storeFailed(cause: unknown): GatewayError {
  return unavailable("The image cannot be read at the moment: try again.", cause);
}

/** Image types that a browser shows without running anything in them, with their usual file extension. */
const SHOWN: Readonly<Record<string, string>> = { ...EXTENSIONS, "image/avif": "avif", "image/jxl": "jxl" };
const SVG = "image/svg+xml";
const MEDIA_TYPE = /^[a-z\d][a-z\d.+-]{0,63}\/[a-z\d][a-z\d.+-]{0,63}$/;

/**
 * Returns the headers that say what a stored image is. A browser shows images of the listed types. Everything else is a
 * download, and if a browser opens it anyway it runs no script: an SVG could otherwise act for the website that serves it.
 */
function toContentHeaders(contentType: string, id: string): Record<string, string> {
  const type = contentType.trim().toLowerCase();
  const extension = Object.hasOwn(SHOWN, type) ? SHOWN[type] : undefined;
  const name = `filename="${id}.${extension ?? (type === SVG ? "svg" : "bin")}"`;
  const headers = {
    "content-type": MEDIA_TYPE.test(type) ? type : "application/octet-stream",
    "x-content-type-options": "nosniff",
  };
  if (extension !== undefined) return { ...headers, "content-disposition": `inline; ${name}` };
  return {
    ...headers,
    "content-disposition": `attachment; ${name}`,
    "content-security-policy": "sandbox; default-src 'none'",
  };
}
