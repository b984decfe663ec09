import type { Family, ResponseShape } from "../families/family.js";
import { readMadeImage } from "../families/shared.js";
import { maskReason, type SecretMask } from "../redact.js";
import type { ImageRequest, ImageResult, MadeImage, ResultError } from "../types.js";
import type { ParsedResponse } from "../upstream/attempt.js";
import { notJsonError, parseResponse } from "../upstream/read.js";
import type { TransportResponse } from "../upstream/transport.js";
import { isJsonObject, type JsonObject } from "../util/json.js";
import type { ImagePart } from "./image-parts.js";
import { type OpenAiEvents, writeImage } from "./openai-events.js";
import { withInputTokens } from "./openai-usage.js";
import {
  createResponseRewriter,
  isLink,
  type LinkedImage,
  listErrors,
  type ResponseFacts,
  type ResponseRewriter,
} from "./rewrite.js";

/**
 * A part of the response to the client: bytes, a string, or an image that is still a link and must be converted to base64.
 * In the events of OpenAI the converted image is written as members of its event. If all images are handed over, they are
 * {@link ImagePart}s.
 */
export type Piece = Uint8Array | string | LinkedImage | ImagePart;

/** Reads a provider's JSON response and makes the response to the client from it. */
export interface JsonReader {
  /** What the response has said so far. */
  readonly facts: ResponseFacts;
  /** The number of bytes that have arrived. */
  readonly byteLength: number;
  /**
   * Reads a chunk, and returns what can be sent on.
   *
   * @throws GatewayError `upstream_invalid_response` if the body is not a JSON object
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
  /** The current time in seconds since 1970, used if the provider gives none. */
  readonly now: number;
  /** True if the bytes are sent on unchanged. */
  readonly isNative: boolean;
  /** Writes the images as the events of OpenAI's images API, in place of JSON. Default: JSON. */
  readonly events?: OpenAiEvents | undefined;
  /** True if images that are links are returned as {@link LinkedImage}. */
  readonly convertsLinks: boolean;
  /** True if every image is handed over as {@link ImagePart}, to be stored. */
  readonly opensImages: boolean;
  /** Masks keys in the provider's reasons for failures. */
  readonly mask: SecretMask;
}

/** A reader that never holds a whole image. The family says where things are in its responses. */
export class ScanningReader implements JsonReader {
  byteLength = 0;
  readonly #rewriter: ResponseRewriter;
  readonly #options: JsonReaderOptions;

  /** @param model the service model name, which replaces the provider's */
  constructor(shape: ResponseShape, model: string, options: JsonReaderOptions) {
    this.#options = options;
    this.#rewriter = createResponseRewriter({ ...options, shape: maskShape(shape, options.mask), model });
  }

  get facts(): ResponseFacts {
    return this.#rewriter.facts;
  }

  get isSentWhole(): boolean {
    return this.#options.isNative && this.#rewriter.status() === "complete";
  }

  push(chunk: Uint8Array): readonly Piece[] {
    this.byteLength += chunk.length;
    const pieces = this.#rewriter.push(chunk);
    if (this.#rewriter.status() === "broken") throw notJsonError(this.#options.response);
    return pieces;
  }

  complete(): readonly Piece[] {
    if (this.#rewriter.status() !== "complete") throw notJsonError(this.#options.response);
    return [];
  }

  end(linkErrors: readonly ResultError[]): readonly Uint8Array[] {
    for (const error of linkErrors) this.#rewriter.addLinkError(error);
    return this.#rewriter.end();
  }
}

/** A reader that holds the whole response: for a short one, and for families that can only read a whole one. */
export class WholeReader implements JsonReader {
  byteLength = 0;
  readonly isSentWhole = false;
  readonly #family: Family;
  readonly #request: ImageRequest;
  readonly #options: JsonReaderOptions;
  readonly #parsed: ParsedResponse | undefined;
  readonly #chunks: Uint8Array[] = [];
  #result: ImageResult = { images: [], errors: [], fields: {} };
  facts: ResponseFacts = toFacts(this.#result, []);

  /** @param parsed the response, if it was parsed before. Then nothing has to be pushed. */
  constructor(family: Family, request: ImageRequest, options: JsonReaderOptions, parsed?: ParsedResponse) {
    this.#family = family;
    this.#request = request;
    this.#options = options;
    this.#parsed = parsed;
  }

  push(chunk: Uint8Array): readonly Piece[] {
    this.byteLength += chunk.length;
    this.#chunks.push(chunk);
    return [];
  }

  complete(): readonly Piece[] {
    const { text, result } = this.#parsed ?? this.#parse();
    this.#result = maskResult(result, this.#options.mask);
    this.facts = toFacts(this.#result, findMade(result));
    const { isNative, events, opensImages } = this.#options;
    const parts = opensImages ? openImages(this.#result) : [];
    if (isNative) return [text, ...parts];
    if (opensImages)
      return events === undefined ? [renderFields(this.#result, this.#options.now), ...parts] : parts;
    return events === undefined
      ? renderBeginning(this.#result, this.#options)
      : renderEvents(this.#result, events, this.#options);
  }

  end(linkErrors: readonly ResultError[]): readonly string[] {
    const { isNative, events } = this.#options;
    if (isNative) return [];
    if (events === undefined) return [renderEnd(this.#result, linkErrors)];
    const { facts } = this;
    return [events.end({ usage: facts.usage, errors: listErrors(facts, linkErrors) })];
  }

  #parse(): Pick<ParsedResponse, "text" | "result"> {
    const { text, value } = parseResponse(this.#chunks, this.#options.response);
    return { text, result: this.#family.fromUpstream(value, this.#request) };
  }
}

function toFacts(result: ImageResult, made: readonly MadeImage[]): ResponseFacts {
  const { images, errors, failure, usage, upstreamRequestId } = result;
  return { images: images.length, made, errors, failure, usage, upstreamRequestId };
}

/** The whole response of `/v1`, in pieces: its images are delivered as they are. */
export function renderResult(result: ImageResult, now: number): readonly string[] {
  const images = result.images.map((image, at) => (at === 0 ? "" : ",") + JSON.stringify(image));
  return [renderFields(result, now), ...images, renderEnd(result, [])];
}

/** What is known of each image of a response. */
export function findMade({ made, images }: ImageResult): readonly MadeImage[] {
  return made ?? images.map(readMadeImage);
}

/** The response of `/v1` up to its last image: the fields, `created` and `data`. */
function renderBeginning(
  result: ImageResult,
  { now, convertsLinks }: Pick<JsonReaderOptions, "now" | "convertsLinks">,
): Piece[] {
  const indexes = convertsLinks ? findIndexes(result) : [];
  const images = result.images.flatMap((image, at): Piece[] => {
    const separator = at === 0 ? "" : ",";
    if (!convertsLinks || !isLink(image)) return [separator + JSON.stringify(image)];
    return [separator, { image, index: indexes[at] ?? at }];
  });
  return [renderFields(result, now), ...images];
}

/** Every image, to be stored. */
function openImages(result: ImageResult): readonly ImagePart[] {
  const indexes = findIndexes(result);
  const { created: createdAt } = result;
  return result.images.map((image, at) => ({ kind: "image", image, index: indexes[at] ?? at, createdAt }));
}

/** An event for each image. Each stays open until the next one begins, because it may be the last. */
function renderEvents(
  result: ImageResult,
  events: OpenAiEvents,
  { convertsLinks }: Pick<JsonReaderOptions, "convertsLinks">,
): Piece[] {
  const indexes = convertsLinks ? findIndexes(result) : [];
  return result.images.flatMap((image, at): Piece[] => {
    const begin = events.beginImage(result.created);
    const isConverted = convertsLinks && isLink(image);
    const members = isConverted ? { image, index: indexes[at] ?? at } : writeImage(image);
    const end = events.endImage(true);
    return [begin, members, end];
  });
}

function renderFields({ fields, created }: ImageResult, now: number): string {
  const { usage } = fields;
  const all: JsonObject = {
    ...fields,
    ...(isJsonObject(usage) && { usage: withInputTokens(usage) }),
    created: created ?? now,
  };
  return `${JSON.stringify(all).slice(0, -1)},"data":[`;
}

/** The rest of the response: the end of `data`, and `extra` with the images that failed. */
function renderEnd({ extra, errors }: ImageResult, linkErrors: readonly ResultError[]): string {
  const allErrors = [...errors, ...linkErrors];
  const shown = { ...extra, ...(allErrors.length > 0 && { errors: allErrors }) };
  const isEmpty = Object.keys(shown).length === 0;
  return isEmpty ? "]}" : `],"extra":${JSON.stringify(shown)}}`;
}

/** The index of each image in the provider's batch, in which failed images have an index too. */
function findIndexes({ images, errors }: ImageResult): readonly number[] {
  const failed = new Set(errors.map(({ index }) => index));
  const batch = Array.from({ length: images.length + errors.length }, (_, index) => index);
  return batch.filter((index) => !failed.has(index));
}

function maskShape(shape: ResponseShape, mask: SecretMask): ResponseShape {
  return {
    ...shape,
    readItem(item, index) {
      const read = shape.readItem(item, index);
      return read === "image" ? read : maskReason(read, mask);
    },
    readFailure(member) {
      const failure = shape.readFailure(member);
      return failure && maskReason(failure, mask);
    },
  };
}

/** Masks keys in the reasons of failures. */
export function maskResult(result: ImageResult, mask: SecretMask): ImageResult {
  return {
    ...result,
    errors: result.errors.map((error) => maskReason(error, mask)),
    failure: result.failure && maskReason(result.failure, mask),
  };
}
