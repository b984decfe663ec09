import type { Dialect } from "../families/dialect.js";
import type { ResponseShape } from "../families/response-shape.js";
import { readMadeImage } from "../families/shared.js";
import { type Redaction, redactReason } from "../redact.js";
import type { ImageRequest, ImageResult, MadeImage, ResultError, ResultImage } from "../types.js";
import type { ParsedResponse } from "../upstream/attempt.js";
import { excessiveError, notJsonError, parseResponse, tooLargeError } from "../upstream/read.js";
import type { TransportResponse } from "../upstream/transport.js";
import type { JsonObject } from "../util/json.js";
import { KEPT_BASE64 } from "./image-object.js";
import { type ImagePart, JsonLayout, writePart } from "./image-parts.js";
import type { EarlyImages, EarlyPart, Piece } from "./image-stage.js";
import { type LongString, LongStrings } from "./long-strings.js";
import type { OpenAiEvents } from "./openai-events.js";
import { completeUsage } from "./openai-usage.js";
import { listErrors, type ResponseFacts } from "./response-facts.js";
import { isLink, ResponseRewriter } from "./rewrite.js";

/** Reads a provider's JSON response and makes the response to the client from it. */
export interface JsonReader {
  /** What the response has said so far. */
  readonly facts: ResponseFacts;
  /** The number of bytes that have arrived. */
  readonly byteLength: number;
  /** True if these are more bytes than the response may have. */
  readonly isTooLarge: boolean;
  /**
   * Reads a chunk, and returns what can be sent on.
   *
   * @throws GatewayError `upstream_invalid_response` if the body is not a JSON object, or larger than it may be
   */
  push(chunk: Uint8Array): readonly Piece[];
  /**
   * Call when the upstream response has ended. Returns what can be sent on now.
   *
   * @throws GatewayError `upstream_invalid_response` if the body is not a complete JSON object
   */
  complete(): readonly Piece[];
  /** Returns the last bytes to send, without which the response is incomplete. */
  end(linkErrors: readonly ResultError[]): readonly (Uint8Array | string)[];
  /** True if every byte so far was sent on, and none is missing. */
  readonly isSentWhole: boolean;
}

/** How a response is read. */
export interface JsonReaderOptions {
  /** The response whose body is read, for error messages. */
  readonly response: TransportResponse;
  /** The largest response that is accepted, in bytes. Default: no limit. */
  readonly maxBytes?: number | undefined;
  /** The current time in seconds since 1970, used if the provider gives none. */
  readonly now: number;
  /** True if the bytes are sent on unchanged. */
  readonly isNative: boolean;
  /**
   * Writes the images as the events of OpenAI's images API, in place of JSON. Every image is then handed over, and nothing else
   * is returned before the end. Default: JSON.
   */
  readonly events?: OpenAiEvents | undefined;
  /** True if images that are links are handed over. */
  readonly convertsLinks: boolean;
  /** True if every image is handed over as {@link ImagePart}, to be stored. */
  readonly opensImages: boolean;
  /** Stores base64 while it arrives, before it is known whether it is an image. Needs `opensImages`. Default: it is held. */
  readonly early?: EarlyImages | undefined;
  /** Redacts keys in the provider's reasons for failures. */
  readonly redact: Redaction;
}

/** Counts the bytes of a response. */
abstract class SizedReader {
  byteLength = 0;
  protected readonly options: JsonReaderOptions;

  constructor(options: JsonReaderOptions) {
    this.options = options;
  }

  get isTooLarge(): boolean {
    return this.byteLength > (this.options.maxBytes ?? Infinity);
  }

  /** @throws GatewayError `upstream_invalid_response` if the response is larger than it may be */
  protected count({ length }: Uint8Array): void {
    const { maxBytes = Infinity, response } = this.options;
    this.byteLength += length;
    if (this.isTooLarge) throw tooLargeError(maxBytes, response);
  }
}

/** A reader that never holds a whole image. The family says where things are in its responses. */
export class ScanningReader extends SizedReader implements JsonReader {
  readonly #rewriter: ResponseRewriter;

  /** @param model the service model name, which replaces the provider's */
  constructor(shape: ResponseShape, model: string, options: JsonReaderOptions) {
    super(options);
    const { events, opensImages, redact } = options;
    this.#rewriter = new ResponseRewriter({
      ...options,
      shape: redactShape(shape, redact),
      model,
      opensImages: opensImages || undefined,
      onlyImages: events !== undefined,
    });
  }

  get facts(): ResponseFacts {
    return this.#rewriter.facts;
  }

  get isSentWhole(): boolean {
    return this.options.isNative && this.#rewriter.status() === "complete";
  }

  push(chunk: Uint8Array): readonly Piece[] {
    const { response } = this.options;
    this.count(chunk);
    const pieces = this.#rewriter.push(chunk);
    const status = this.#rewriter.status();
    if (status === "broken") throw notJsonError(response);
    if (status === "excessive") throw excessiveError(response);
    return pieces;
  }

  complete(): readonly Piece[] {
    if (this.#rewriter.status() !== "complete") throw notJsonError(this.options.response);
    return [];
  }

  end(linkErrors: readonly ResultError[]): readonly (Uint8Array | string)[] {
    const { events } = this.options;
    if (events !== undefined) {
      const isUsable = this.#rewriter.status() === "complete" && this.facts.images > 0;
      return isUsable ? [writeEventsEnd(events, this.facts, linkErrors)] : [];
    }
    return this.#rewriter.end(linkErrors);
  }
}

/** Nothing was made. */
export const NO_RESULT: ImageResult = { images: [], errors: [], fields: {} };
const NO_FACTS = toFacts(NO_RESULT, []);

/** A reader that holds the whole response: for a short one, and for families that can only read a whole one. */
export class WholeReader extends SizedReader implements JsonReader {
  readonly isSentWhole = false;
  readonly #dialect: Dialect;
  readonly #request: ImageRequest;
  readonly #parsed: ParsedResponse | undefined;
  readonly #chunks: Uint8Array[] = [];
  /** Reads the response if its family needs only the beginning of base64. Then there are no `#chunks`. */
  readonly #longStrings: LongStrings | undefined;
  #result = NO_RESULT;
  /** The response, if it is short and its images are sent as they are. It is written at once. */
  #whole: JsonObject | undefined;
  /** The fields that follow the images. */
  #after: JsonObject = {};
  facts = NO_FACTS;

  /** @param parsed the response, if it was parsed before. Then nothing has to be pushed. */
  constructor(dialect: Dialect, request: ImageRequest, options: JsonReaderOptions, parsed?: ParsedResponse) {
    super(options);
    this.#dialect = dialect;
    this.#request = request;
    this.#parsed = parsed;
    // A native response is sent on as its text.
    const { early, isNative } = options;
    if (dialect.cutsBase64 !== true || isNative) return;
    this.#longStrings = new LongStrings(early, early && dialect.base64Path);
  }

  push(chunk: Uint8Array): readonly Piece[] {
    this.count(chunk);
    if (this.#longStrings === undefined) this.#chunks.push(chunk);
    else this.#longStrings.push(chunk);
    if (this.#longStrings?.isExcessive === true) throw excessiveError(this.options.response);
    return [];
  }

  complete(): readonly Piece[] {
    const { text, value, result } = this.#parsed ?? this.#parse();
    this.#result = redactResult(result, this.options.redact);
    this.facts = toFacts(this.#result, result.made ?? result.images.map(readMadeImage));
    const { isNative, events, opensImages, convertsLinks, early } = this.options;
    const find: FindLongString = (base64) => this.#longStrings?.find(base64);
    const parts = events !== undefined || opensImages ? openImages(this.#result, find) : [];
    early?.choose(new Set(parts.flatMap((part) => (part.kind === "early" ? part.image : []))));
    if (events !== undefined) return parts;
    if (isNative) return [text, ...parts];
    const whole = arrangeFields(
      findFields(this.#result, this.options.now, this.facts.report),
      value,
      this.#result.images,
    );
    if (this.#parsed !== undefined && !opensImages && !(convertsLinks && result.images.some(isLink))) {
      this.#whole = whole;
      return [];
    }
    const { before, after } = divideFields(whole);
    this.#after = after;
    return [
      renderBeginning(before),
      ...(opensImages ? parts : renderImages(this.#result, this.options, find)),
    ];
  }

  end(linkErrors: readonly ResultError[]): readonly string[] {
    const { isNative, events } = this.options;
    if (isNative) return [];
    if (this.#whole !== undefined) {
      const extra = findExtra(this.#result, linkErrors);
      return [JSON.stringify(extra === undefined ? this.#whole : { ...this.#whole, extra })];
    }
    return [
      events === undefined
        ? renderEnd(this.#result, linkErrors, this.#after)
        : writeEventsEnd(events, this.facts, linkErrors),
    ];
  }

  #parse(): ParsedResponse {
    const chunks = this.#longStrings === undefined ? this.#chunks : [this.#longStrings.text];
    const { text, value } = parseResponse(chunks, this.options.response);
    return { text, value, result: this.#dialect.fromUpstream(value, this.#request) };
  }
}

function writeEventsEnd(
  events: OpenAiEvents,
  facts: ResponseFacts,
  linkErrors: readonly ResultError[],
): string {
  return events.end({ usage: facts.usage, errors: listErrors(facts, linkErrors) });
}

function toFacts(result: ImageResult, made: readonly MadeImage[]): ResponseFacts {
  const { images, errors, failure, usage, upstreamRequestId, fields } = result;
  const { usage: reported } = fields;
  const report = reported === undefined ? undefined : completeUsage(reported, usage);
  return { images: images.length, made, errors, failure, usage, report, upstreamRequestId };
}

function renderImages(
  result: ImageResult,
  { convertsLinks }: Pick<JsonReaderOptions, "convertsLinks">,
  find: FindLongString,
): Piece[] {
  const indexes = convertsLinks ? findIndexes(result) : [];
  return result.images.flatMap((image, at): Piece[] => {
    const separator = at === 0 ? "" : ",";
    const long = findLong(image, find);
    // Images are stored early only if all of them are handed over.
    if (long !== undefined && "bytes" in long) {
      const parts = openHeld(image, long.bytes, at);
      return [separator, ...parts.map((part) => writePart(part, new JsonLayout()))];
    }
    if (!convertsLinks || !isLink(image)) return [separator + JSON.stringify(image)];
    return [separator, { kind: "image", image, index: indexes[at] ?? at, isBegun: true }];
  });
}

/** Every image, to be handed over. */
function openImages(result: ImageResult, find: FindLongString): readonly (ImagePart | EarlyPart)[] {
  const indexes = findIndexes(result);
  const { created: createdAt } = result;
  return result.images.flatMap((image, at): readonly (ImagePart | EarlyPart)[] => {
    const index = indexes[at] ?? at;
    const long = findLong(image, find);
    if (long === undefined) return [{ kind: "image", image, index, createdAt }];
    if ("bytes" in long) return openHeld(image, long.bytes, index, createdAt);
    return [{ kind: "early", image: long.image, ...splitMembers(image), index, createdAt }];
  });
}

/** Returns a long string that was cut. */
type FindLongString = LongStrings["find"];

/** The base64 of an image, if it was cut. */
function findLong({ b64_json: base64 }: ResultImage, find: FindLongString): LongString | undefined {
  return base64 ? find(base64) : undefined;
}

/** The parts of an image whose base64 was cut and held. */
function openHeld(
  image: ResultImage,
  chunks: readonly Uint8Array[],
  index: number,
  createdAt?: number,
): readonly ImagePart[] {
  return [
    { kind: "begin", members: {}, createdAt },
    ...chunks.map((bytes): ImagePart => ({ kind: "base64", bytes })),
    { kind: "end", ...splitMembers(image), index },
  ];
}

/** The members of an image whose base64 comes first. */
function splitMembers(image: ResultImage): Pick<EarlyPart, "members" | "later"> {
  const { b64_json: base64 = "", ...later } = image;
  return { members: { ...image, b64_json: base64.slice(0, KEPT_BASE64) }, later };
}

/** The response of `/v1` up to its images. */
export function renderFields(result: ImageResult, now: number): string {
  return renderBeginning(findFields(result, now));
}

function renderBeginning(fields: JsonObject): string {
  const json = JSON.stringify(fields).slice(0, -1);
  return json === "{" ? '{"data":[' : `${json},"data":[`;
}

function findFields({ fields, created }: ImageResult, now: number, usage?: JsonObject): JsonObject {
  return { ...fields, ...(usage && { usage }), created: created ?? now };
}

/** The fields and `data`, in the order of the provider's response. Fields that it does not have come first. */
function arrangeFields(fields: JsonObject, response: JsonObject, data: readonly ResultImage[]): JsonObject {
  // The copy of an object has its shape, so this takes less time than to add one field after another.
  const arranged: JsonObject = { ...response, data };
  for (const name in arranged) {
    if (name === "data") continue;
    if (Object.hasOwn(fields, name)) arranged[name] = fields[name];
    else delete arranged[name];
  }
  const others = Object.entries(fields).filter(([name]) => !Object.hasOwn(arranged, name));
  return others.length === 0 ? arranged : { ...Object.fromEntries(others), ...arranged };
}

/** Divides the fields of a response at its `data`. */
function divideFields(arranged: JsonObject): { readonly before: JsonObject; readonly after: JsonObject } {
  const all = Object.entries(arranged);
  const at = all.findIndex(([name]) => name === "data");
  return { before: Object.fromEntries(all.slice(0, at)), after: Object.fromEntries(all.slice(at + 1)) };
}

/** The rest of the response: the end of `data`, and `extra` with the images that failed. */
export function renderEnd(
  result: ImageResult,
  linkErrors: readonly ResultError[] = [],
  fields: JsonObject = {},
): string {
  const extra = findExtra(result, linkErrors);
  const rest = extra === undefined ? fields : { ...fields, extra };
  const json = JSON.stringify(rest).slice(1);
  return json === "}" ? "]}" : `],${json}`;
}

/** What `extra` says. `undefined`: nothing. */
function findExtra(
  { extra, errors }: ImageResult,
  linkErrors: readonly ResultError[],
): JsonObject | undefined {
  const hasErrors = errors.length > 0 || linkErrors.length > 0;
  if (!hasErrors && extra === undefined) return undefined;
  const shown = { ...extra, ...(hasErrors && { errors: [...errors, ...linkErrors] }) };
  return Object.keys(shown).length > 0 ? shown : undefined;
}

/** The index of each image in the provider's batch, in which failed images have an index too. */
function findIndexes({ images, errors }: ImageResult): readonly number[] {
  const failed = new Set(errors.map(({ index }) => index));
  const batch = Array.from({ length: images.length + errors.length }, (_, index) => index);
  return batch.filter((index) => !failed.has(index));
}

function redactShape(shape: ResponseShape, redact: Redaction): ResponseShape {
  return {
    ...shape,
    readItem(item, index) {
      const read = shape.readItem(item, index);
      return read === "image" ? read : redactReason(read, redact);
    },
    readFailure(member) {
      const failure = shape.readFailure(member);
      return failure && redactReason(failure, redact);
    },
  };
}

/** Redacts keys in the reasons of failures. */
function redactResult(result: ImageResult, redact: Redaction): ImageResult {
  if (result.errors.length === 0 && result.failure === undefined) return result;
  return {
    ...result,
    errors: result.errors.map((error) => redactReason(error, redact)),
    failure: result.failure && redactReason(result.failure, redact),
  };
}
