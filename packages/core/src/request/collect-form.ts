import type { Readable } from "node:stream";
import type { Busboy } from "busboy";
import { GatewayError, invalidRequest, isGatewayError } from "../errors.js";
import { type CopiedChunks, createCopiedChunks } from "./copied-chunks.js";
import type { KeptFile } from "./kept-file.js";
import type { Shelf } from "./spool.js";

/** What a form may weigh, in bytes. */
export interface FormLimits {
  readonly form: number;
  readonly file: number;
}

/** How a form is read. */
export interface FormOptions {
  readonly limits: FormLimits;
  /** Where its files are kept. */
  readonly shelf: Shelf;
  /** Frees the memory of a chunk of the body. */
  readonly freeChunk?: ((chunk: Uint8Array) => void) | undefined;
}

/** One part of a form. */
export type FormPart =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly file: KeptFile };

const MAX_NAME_LENGTH = 256;

/**
 * Feeds a body to a parser with backpressure and collects its parts in the order they came.
 *
 * @throws GatewayError the first thing that is wrong with the form, as soon as it shows
 */
export async function collectForm(
  body: AsyncIterable<Uint8Array> | null,
  parser: Busboy,
  options: FormOptions,
): Promise<readonly FormPart[]> {
  const chunks = createCopiedChunks(options.freeChunk);
  const collector = startCollecting(parser, { ...options, chunks });
  try {
    await Promise.race([feed(body, parser, { maxBytes: options.limits.form, chunks }), collector.failed]);
    return await Promise.race([collector.parts, collector.failed]);
  } finally {
    // Ends file streams that wait for more, too; after a whole form it does nothing.
    parser.destroy();
  }
}

interface CollectOptions extends FormOptions {
  readonly chunks: CopiedChunks;
}

interface Collector {
  /** The parts, once the form has ended. */
  readonly parts: Promise<readonly FormPart[]>;
  /** Rejects with the first problem; never resolves. */
  readonly failed: Promise<never>;
}

function startCollecting(parser: Busboy, options: CollectOptions): Collector {
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  const parts: Promise<FormPart>[] = [];
  parser.on("file", (name, stream) => {
    checkName(name, fail);
    const part = collectFile(name, stream, options);
    part.catch(fail);
    parts.push(part);
  });
  parser.on("field", (name, text: string | undefined) => {
    checkName(name, fail);
    if (text === undefined) fail(invalidRequest(`The form's field ${name} is not in UTF-8.`, name));
    else parts.push(Promise.resolve({ name, text }));
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
  // A form may fail after its reader has gone on to another problem; then nobody listens.
  failed.catch(() => undefined);
  collected.catch(() => undefined);
  return { parts: collected, failed };
}

/** The parser tells nameless parts as parts of the name `undefined`, and bounds no name. */
function checkName(name: string | undefined, fail: (error: GatewayError) => void): void {
  if (name === undefined) fail(invalidRequest("The form has a part without a name."));
  else if (name.length > MAX_NAME_LENGTH) {
    fail(invalidRequest(`The form has a part whose name is longer than ${MAX_NAME_LENGTH} characters.`));
  }
}

function collectFile(
  name: string,
  stream: Readable & { truncated?: boolean },
  { limits, shelf, chunks }: CollectOptions,
): Promise<FormPart> {
  return new Promise((resolve, reject) => {
    const writer = shelf.begin();
    stream.on("data", (chunk: Uint8Array) => {
      const written = writer.write(chunk);
      if (written === undefined) return chunks.copied(chunk);
      stream.pause();
      written
        .then(() => chunks.copied(chunk))
        .then(() => stream.resume())
        .catch(reject);
    });
    stream.on("limit", () => reject(tooLarge(`The file in ${name} is larger than ${limits.file} bytes.`)));
    stream.on("error", reject);
    stream.on("end", () => resolve(writer.end().then((file) => ({ name, file }))));
  });
}

async function feed(
  body: AsyncIterable<Uint8Array> | null,
  parser: Busboy,
  { maxBytes, chunks }: { maxBytes: number; chunks: CopiedChunks },
): Promise<void> {
  let length = 0;
  for await (const chunk of readable(body)) {
    length += chunk.length;
    if (length > maxBytes) throw tooLarge(`The form is larger than ${maxBytes} bytes.`);
    if (parser.destroyed) return;
    chunks.parse(chunk);
    if (!parser.write(chunk)) await drained(parser);
  }
  parser.end();
}

/** A body whose failing means that the client left. */
async function* readable(body: AsyncIterable<Uint8Array> | null): AsyncIterable<Uint8Array> {
  try {
    if (body !== null) yield* body;
  } catch (cause) {
    if (isGatewayError(cause)) throw cause;
    throw new GatewayError("client_closed_request", "The body ended before it was complete.", { cause });
  }
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
