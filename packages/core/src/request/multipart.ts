import { Readable } from "node:stream";
import busboy, { type Busboy } from "busboy";
import { GatewayError, invalidRequest } from "../errors.js";
import type { GatewayRequest } from "../http.js";
import type { RequestSpool } from "../images/spool.js";
import type { JsonObject } from "../util/json.js";
import { type BodyGuard, bodyAlreadyRead, type IncomingBody, openBody } from "./body.js";
import { type FormPart, toFormFields } from "./form-fields.js";
import { createFormEnd, createPartHeads, type FormEnd } from "./form-filter.js";
import { checkContentEncoding } from "./json.js";

/** The maximum sizes of a form and of each file in it, in bytes. */
export interface FormLimits {
  readonly form: number;
  readonly file: number;
}

/** What {@link readMultipart} needs besides the request. */
export interface FormOptions {
  readonly limits: FormLimits;
  /** Stores the files of the form. */
  readonly spool: RequestSpool;
}

/** A parser for one form, and the search for the end of that form. */
export interface FormParser {
  readonly parser: Busboy;
  readonly end: FormEnd;
}

/**
 * Reads a multipart form: its fields as strings and its images in `image`. Returns after the end of the form.
 *
 * @throws GatewayError 400, 413, 415, or `body_already_read`
 */
export async function readMultipart(
  request: GatewayRequest,
  options: FormOptions,
  guard?: BodyGuard,
): Promise<JsonObject> {
  const { limits } = options;
  const contentType = request.headers.get("content-type") ?? "";
  if (!/^multipart\/form-data *;/i.test(contentType)) {
    throw new GatewayError(
      "unsupported_media_type",
      "This endpoint takes a form with files or JSON: send Content-Type: multipart/form-data or application/json.",
    );
  }
  checkContentEncoding(request.headers.get("content-encoding"));
  const declared = Number(request.headers.get("content-length") ?? Number.NaN);
  if (declared > limits.form)
    throw new GatewayError("request_too_large", `The form is larger than ${limits.form} bytes.`);
  const parser = createParser(contentType, limits);
  // A body that the host has read is already in memory and counted.
  const isRead = request.parsedBody instanceof Uint8Array;
  const body = openBody({ body: readableBody(request) }, isRead ? undefined : guard);
  return toFormFields(await collectForm(body, parser, options));
}

/** The form's bytes from the host, or from a parser of the host that left them as they were. */
function readableBody({ body, parsedBody, bodyConsumed }: GatewayRequest): GatewayRequest["body"] {
  if (parsedBody instanceof Uint8Array) return Readable.from([parsedBody]);
  if (bodyConsumed === true) throw bodyAlreadyRead();
  return body;
}

/** A form with more fields is refused. No form of the interface needs this many. */
const MAX_FILES = 64;
const MAX_FIELDS = 256;

/** A parser of forms with these limits. @throws GatewayError `invalid_request_error` without a usable boundary */
function createParser(contentType: string, limits: FormLimits): FormParser {
  const boundary = readBoundary(contentType);
  const parser = busboy({
    // The header is rewritten so that the parser and the search for the form's end use the same boundary.
    headers: { "content-type": `multipart/form-data; boundary="${boundary.replaceAll(/["\\]/g, "\\$&")}"` },
    defParamCharset: "utf8",
    limits: {
      // busboy cuts a file when it reaches the limit, not when it exceeds it, hence + 1.
      fileSize: limits.file + 1,
      fieldSize: limits.form + 1,
      files: MAX_FILES,
      fields: MAX_FIELDS,
      // Parts without a name or a header count too. busboy emits `partsLimit` when it reaches the limit, hence + 1.
      parts: MAX_FILES + MAX_FIELDS + 1,
    },
  });
  return { parser, end: createFormEnd(boundary) };
}

/** RFC 2046 allows 70 characters; some clients use a few more. */
const MAX_BOUNDARY_LENGTH = 256;

function readBoundary(contentType: string): string {
  const [, quoted, token] = /;\s*boundary=(?:"((?:[^"\\]|\\.)*)"|([^\s;",]+))/i.exec(contentType) ?? [];
  const boundary = quoted?.replaceAll(/\\(.)/g, "$1") ?? token ?? "";
  if (/^[\x20-\x7e]+$/.test(boundary) && boundary.length <= MAX_BOUNDARY_LENGTH) return boundary;
  throw invalidRequest(
    `The form's Content-Type is not usable: it needs a boundary of 1 to ${MAX_BOUNDARY_LENGTH} ASCII characters.`,
  );
}

const MAX_NAME_LENGTH = 256;

/**
 * Passes a body to a parser with backpressure, and collects its parts in order. Bytes after the end of the form are
 * read and ignored.
 */
export async function collectForm(
  body: IncomingBody,
  { parser, end }: FormParser,
  options: FormOptions,
): Promise<readonly FormPart[]> {
  const collector = startCollecting(parser, options);
  try {
    await Promise.race([feed(body, { parser, end }, options.limits.form), collector.failed]);
    return await Promise.race([collector.parts, collector.failed]);
  } finally {
    body.cancel();
    // Also ends file streams that wait for more bytes. After a complete form it does nothing.
    parser.destroy();
  }
}

interface Collector {
  /** The parts, once the form has ended. */
  readonly parts: Promise<readonly FormPart[]>;
  /** Rejects with the first problem; never resolves. */
  readonly failed: Promise<never>;
}

function startCollecting(parser: Busboy, options: FormOptions): Collector {
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  const parts: Promise<FormPart>[] = [];
  parser.on("file", (name, stream) => {
    checkName(name, fail);
    const part = collectFile(name, stream, options);
    part.catch(fail);
    parts.push(part);
  });
  parser.on("field", (name, value: string | undefined) => {
    checkName(name, fail);
    if (value === undefined) fail(invalidRequest(`The form's field ${name} is not in UTF-8.`, name));
    else parts.push(Promise.resolve({ name, value }));
  });
  for (const event of ["partsLimit", "filesLimit", "fieldsLimit"] as const) {
    parser.on(event, () => fail(invalidRequest("The form has too many parts.")));
  }
  const ended = new Promise<void>((resolve) => {
    parser.on("close", resolve);
  });
  parser.on("error", (cause) => {
    fail(
      new GatewayError("invalid_request_error", "The form is malformed or was cut on its way.", { cause }),
    );
  });
  const collected = ended.then(() => Promise.all(parts));
  // After the first problem, these promises are no longer awaited.
  failed.catch(() => undefined);
  collected.catch(() => undefined);
  return { parts: collected, failed };
}

/** busboy emits parts without a name with the name `undefined`, and does not limit the length of names. */
function checkName(name: string | undefined, fail: (error: GatewayError) => void): void {
  if (name === undefined) fail(invalidRequest("The form has a part without a name."));
  else if (name.length > MAX_NAME_LENGTH) {
    fail(invalidRequest(`The form has a part whose name is longer than ${MAX_NAME_LENGTH} characters.`));
  }
}

function collectFile(
  name: string,
  stream: Readable & { truncated?: boolean },
  { limits, spool }: FormOptions,
): Promise<FormPart> {
  return new Promise((resolve, reject) => {
    const writer = spool.begin();
    stream.on("data", (chunk: Uint8Array) => {
      const written = writer.write(chunk);
      if (written === undefined) return;
      stream.pause();
      written.then(() => stream.resume(), reject);
    });
    stream.on("limit", () => reject(tooLarge(`The file in ${name} is larger than ${limits.file} bytes.`)));
    stream.on("error", reject);
    stream.on("end", () => resolve(writer.end().then((file) => ({ name, file }))));
  });
}

/**
 * The number of bytes that are passed to the parser at a time. Larger pieces would block the event loop, and after a
 * failure the parser would still process all of them.
 */
const PIECE_BYTES = 64 * 1024;
/**
 * The parser keeps a slice of each chunk of a field. So if a body has more than a few small chunks, the further ones
 * are joined.
 */
const SMALL_BYTES = 4 * 1024;
const MAX_SMALL_CHUNKS = 64;

async function feed(body: IncomingBody, { parser, end }: FormParser, maxBytes: number): Promise<void> {
  const pieces = createPieces();
  let length = 0;
  let hasEnded = false;
  const heads = createPartHeads();
  /** @returns a promise if the parser must catch up before the next bytes */
  const give = (bytes: Uint8Array): Promise<void> | undefined => {
    if (bytes.length === 0 || parser.destroyed || parser.write(bytes)) return undefined;
    return drained(parser);
  };
  const write = async (piece: Uint8Array): Promise<void> => {
    if (hasEnded || parser.destroyed) return;
    const found = end.find(piece);
    hasEnded = found.end !== undefined;
    for (const bytes of heads.pass(piece.subarray(0, found.end), found.heads)) {
      const caughtUp = give(bytes);
      if (caughtUp !== undefined) await caughtUp;
    }
  };
  for (let chunk = await body.next(); chunk !== undefined; chunk = await body.next()) {
    length += chunk.length;
    if (length > maxBytes) throw tooLarge(`The form is larger than ${maxBytes} bytes.`);
    for (const piece of pieces.add(chunk)) await write(piece);
  }
  await write(pieces.rest());
  await give(heads.rest());
  parser.end();
}

interface Pieces {
  /** Returns the pieces that are ready, each of at most {@link PIECE_BYTES}. */
  add(chunk: Uint8Array): Iterable<Uint8Array>;
  /** Returns the remaining bytes. */
  rest(): Uint8Array;
}

function createPieces(): Pieces {
  let joined = new Uint8Array(0);
  let used = 0;
  let smallChunks = 0;
  const take = (): Uint8Array => {
    const piece = joined.subarray(0, used);
    // The parser may keep slices of the piece, so its memory is not reused.
    joined = new Uint8Array(0);
    used = 0;
    return piece;
  };
  return {
    *add(chunk) {
      if (chunk.length >= SMALL_BYTES || smallChunks++ < MAX_SMALL_CHUNKS) {
        if (used > 0) yield take();
        for (let start = 0; start < chunk.length; start += PIECE_BYTES) {
          yield chunk.subarray(start, start + PIECE_BYTES);
        }
        return;
      }
      if (joined.length === 0) joined = new Uint8Array(2 * SMALL_BYTES);
      joined.set(chunk, used);
      used += chunk.length;
      if (used > SMALL_BYTES) yield take();
    },
    rest: take,
  };
}

function drained(parser: Busboy): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      parser.off("drain", settle);
      parser.off("close", settle);
      resolve();
    };
    parser.on("drain", settle);
    parser.on("close", settle);
  });
}

function tooLarge(message: string): GatewayError {
  return new GatewayError("request_too_large", message);
}
