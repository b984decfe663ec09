import { Readable } from "node:stream";
import type { Busboy } from "busboy";
import Multipart from "busboy/lib/types/multipart.js";
import { GatewayError, invalidRequest } from "../errors.js";
import type { GatewayRequest } from "../http.js";
import type { RequestSpool } from "../images/spool.js";
import type { SpoolWriter } from "../images/spooled-file.js";
import { freeChunk } from "../util/free-chunk.js";
import { createHeldBytes } from "../util/held-bytes.js";
import type { JsonObject } from "../util/json.js";
import { type BodyGuard, type BodyReader, bodyAlreadyRead, receiveBody } from "./body.js";
import { type FieldPart, toFormFields } from "./form-fields.js";
import { type FormPiece, FormSplitter } from "./form-splitter.js";
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

/** What reads one form. */
export interface FormParser {
  /** Gets everything but the content of files. */
  readonly parser: Busboy;
  readonly splitter: FormSplitter;
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
  const form = createParser(contentType, limits);
  // A body that the host has read is already in memory and counted.
  const isRead = request.parsedBody instanceof Uint8Array;
  const body = readableBody(request);
  return toFormFields(await collectForm({ body }, form, { ...options, guard: isRead ? undefined : guard }));
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
  const parser = new Multipart({
    // The parser and the splitter use the same boundary.
    conType: { params: { boundary } },
    defParamCharset: "utf8",
    limits: {
      fieldSize: limits.form + 1,
      files: MAX_FILES,
      fields: MAX_FIELDS,
      // Parts without a name or a header count too. busboy emits `partsLimit` when it reaches the limit, hence + 1.
      parts: MAX_FILES + MAX_FIELDS + 1,
    },
  });
  return { parser, splitter: new FormSplitter(boundary) };
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

/** Reads a form, and collects its parts in order. Bytes after the end of the form are read and ignored. */
export async function collectForm(
  request: Pick<GatewayRequest, "body">,
  form: FormParser,
  options: FormOptions & { readonly guard?: BodyGuard | undefined },
): Promise<readonly FieldPart[]> {
  try {
    return await receiveBody(request, new FormCollector(form, options), options.guard);
  } finally {
    form.parser.destroy();
  }
}

/** The parser gets the content of fields in pieces of about this size, because it keeps a slice of each. */
const FIELD_BYTES = 64 * 1024;

/**
 * Gives the markup and the fields of a form to the parser, and the content of its files to the spool. All bytes are
 * copied, so that the memory of each chunk is free at once.
 */
class FormCollector implements BodyReader<readonly FieldPart[]> {
  readonly #parser: Busboy;
  readonly #splitter: FormSplitter;
  readonly #options: FormOptions;
  readonly #parts: FieldPart[] = [];
  #length = 0;
  /** The file whose content is arriving. */
  #file: ArrivingFile | undefined;
  /** The first bytes of a part, which its head brought. */
  #first: Uint8Array = new Uint8Array();
  /** Content of a part that is not a file. */
  readonly #field = createHeldBytes();
  /** The first problem that the parser found. It emits its events while it is written to. */
  #failure: GatewayError | undefined;

  constructor({ parser, splitter }: FormParser, options: FormOptions) {
    this.#parser = parser;
    this.#splitter = splitter;
    this.#options = options;
    parser.on("file", (name, stream) => {
      this.#checkName(name);
      stream.on("error", ignoreFailure).resume();
      this.#file = { name, writer: options.spool.begin(), length: 0 };
      void this.#store(this.#file, this.#first);
    });
    parser.on("field", (name, value: string | undefined) => {
      this.#checkName(name);
      if (value !== undefined) this.#parts.push({ name, value });
      else this.#fail(invalidRequest(`The form's field ${name} is not in UTF-8.`, name));
    });
    for (const event of ["partsLimit", "filesLimit", "fieldsLimit"] as const) {
      parser.on(event, () => this.#fail(invalidRequest("The form has too many parts.")));
    }
    parser.on("error", (cause) => this.#fail(malformed(cause)));
  }

  take(chunk: Uint8Array): Promise<void> | undefined {
    const { limits } = this.#options;
    this.#length += chunk.length;
    if (this.#length > limits.form) throw tooLarge(`The form is larger than ${limits.form} bytes.`);
    const written = this.#writeAll(this.#splitter.split(chunk));
    if (written !== undefined) return written.then(() => freeChunk(chunk));
    freeChunk(chunk);
    return undefined;
  }

  end(): Promise<readonly FieldPart[]> {
    if (!this.#splitter.hasEnded) throw malformed();
    return new Promise((resolve, reject) => {
      this.#parser.on("close", () =>
        this.#failure === undefined ? resolve(this.#parts) : reject(this.#failure),
      );
      this.#parser.end();
    });
  }

  /** @returns a promise if a file must be written to the disk before the next piece */
  #writeAll(pieces: Iterator<FormPiece, void>): Promise<void> | undefined {
    for (let next = pieces.next(); next.done !== true; next = pieces.next()) {
      const written = this.#write(next.value);
      if (written !== undefined) return written.then(() => this.#writeAll(pieces));
    }
    return undefined;
  }

  #write(piece: FormPiece): Promise<void> | undefined {
    switch (piece.kind) {
      case "head":
        this.#first = piece.content;
        this.#parse(piece.bytes);
        return undefined;
      case "content":
        if (this.#file !== undefined) return this.#writeFile(this.#file, piece.bytes);
        this.#field.add(piece.bytes);
        if (this.#field.length >= FIELD_BYTES) this.#parse(this.#field.take());
        return undefined;
      case "delimiter":
        this.#parse(this.#field.take());
        this.#parse(piece.bytes);
        return this.#endFile();
    }
  }

  #parse(bytes: Uint8Array): void {
    if (bytes.length > 0) this.#parser.write(bytes);
    this.#throwFailure();
  }

  #writeFile(file: ArrivingFile, bytes: Uint8Array): Promise<void> | undefined {
    const written = this.#store(file, bytes);
    this.#throwFailure();
    return written;
  }

  /** Stores content of the file, and notes a failure if it is too large. */
  #store(file: ArrivingFile, bytes: Uint8Array): Promise<void> | undefined {
    const limit = this.#options.limits.file;
    file.length += bytes.length;
    if (file.length <= limit) return file.writer.write(bytes);
    this.#fail(tooLarge(`The file in ${file.name} is larger than ${limit} bytes.`));
    return undefined;
  }

  #endFile(): Promise<void> | undefined {
    const file = this.#file;
    if (file === undefined) return undefined;
    this.#file = undefined;
    return file.writer.end().then((stored) => void this.#parts.push({ name: file.name, file: stored }));
  }

  /** busboy emits parts without a name with the name `undefined`, and does not limit the length of names. */
  #checkName(name: string | undefined): void {
    if (name === undefined) this.#fail(invalidRequest("The form has a part without a name."));
    else if (name.length > MAX_NAME_LENGTH) {
      this.#fail(
        invalidRequest(`The form has a part whose name is longer than ${MAX_NAME_LENGTH} characters.`),
      );
    }
  }

  #fail(error: GatewayError): void {
    this.#failure ??= error;
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }
}

interface ArrivingFile {
  readonly name: string;
  readonly writer: SpoolWriter;
  length: number;
}

const MAX_NAME_LENGTH = 256;

/** The file's content does not pass through the parser, so nothing reads the parser's stream of it. */
function ignoreFailure(): void {}

function malformed(cause?: unknown): GatewayError {
  return new GatewayError("invalid_request_error", "The form is malformed or was cut on its way.", { cause });
}

function tooLarge(message: string): GatewayError {
  return new GatewayError("request_too_large", message);
}
