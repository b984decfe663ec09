import type { ResultImage } from "../types.js";
import type { Awaitable } from "../util/async.js";
import { replaceJsonStrings } from "../util/replace-json-strings.js";
import type { ImageDelivery } from "./image-delivery.js";
import type { ImageLayout, ImagePart } from "./image-parts.js";
import type { Piece } from "./json-reader.js";
import { type OpenAiEvents, writeImage } from "./openai-events.js";
import type { LinkedImage } from "./rewrite.js";

/** How the pieces of a response are written for the client. */
export interface PieceOutput {
  readonly delivery: ImageDelivery;
  readonly layout: ImageLayout;
  /** `undefined`: the response is JSON. */
  readonly events: OpenAiEvents | undefined;
  /** True if the bytes are the provider's own. Their images are stored besides. */
  readonly isNative: boolean;
  /** Aborted when the client has disconnected. The download of a link that is not stored then ends. Default: never. */
  readonly signal?: AbortSignal | undefined;
}

/** Returns the bytes of the pieces, with images delivered. Without images to deliver the result is not a promise. */
export function writePieces(output: PieceOutput, pieces: readonly Piece[]): Awaitable<readonly Uint8Array[]> {
  if (pieces.every(isPlain)) return pieces.map(encodePiece);
  return deliverPieces(output, pieces).then((delivered) => delivered.map(encodePiece));
}

type PlainPiece = Uint8Array | string;

/** Stores or converts the images among the pieces, a few at a time, and returns what is sent. */
export async function deliverPieces(
  output: PieceOutput,
  pieces: readonly Piece[],
): Promise<readonly PlainPiece[]> {
  const { delivery, layout, isNative } = output;
  const delivered = (await delivery.deliverAll(pieces.filter(isWholeImage))).values();
  const sent: PlainPiece[] = [];
  for (const piece of pieces) {
    if (isPlain(piece)) {
      sent.push(piece);
      continue;
    }
    const written = isWholeImage(piece)
      ? writeWhole(output, piece, delivered.next().value)
      : await delivery.write(piece, layout);
    if (!isNative) sent.push(...written);
  }
  return sent;
}

/** Delivers the images one after another, while they are sent. A link that becomes base64 is not held. */
export async function* streamPieces(
  output: PieceOutput,
  pieces: readonly Piece[],
): AsyncGenerator<Uint8Array> {
  const { delivery, layout, events } = output;
  for (const piece of pieces) {
    if (isPlain(piece)) yield encodePiece(piece);
    else if (!("kind" in piece)) yield* streamLink(output, piece);
    else if (piece.kind !== "image" || events === undefined || !delivery.streamsLink(piece.image)) {
      yield* (await delivery.write(piece, layout)).map(encodePiece);
    } else {
      yield encodePiece(events.beginImage(piece.createdAt));
      // It may be the last image, so its event stays open. Heartbeats are possible until the download begins.
      events.endImage(true);
      yield* streamLink(output, piece);
    }
  }
}

async function* streamLink(
  { delivery, events, signal }: PieceOutput,
  image: LinkedImage,
): AsyncGenerator<Uint8Array> {
  for await (const part of delivery.streamLink(image, events, signal)) yield encodePiece(part);
}

/** A provider's own JSON, in which the images have the links of the store. An image that was refused is empty. */
export async function replaceImages(delivery: ImageDelivery, pieces: readonly Piece[]): Promise<string> {
  const images = joinImages(pieces);
  const delivered = await delivery.deliverAll(images);
  const text = pieces.filter(isPlain).map(decodePiece).join("");
  return replaceJsonStrings(
    text,
    new Map(images.flatMap(({ image }, at) => listChanges(image, delivered[at]))),
  );
}

/** The images among the pieces. The base64 of an image in parts is joined. */
function joinImages(pieces: readonly Piece[]): readonly LinkedImage[] {
  const images: LinkedImage[] = [];
  let base64: Uint8Array[] = [];
  for (const piece of pieces) {
    if (isPlain(piece)) continue;
    if (isWholeImage(piece)) images.push(piece);
    else if (piece.kind === "begin") base64 = [];
    else if (piece.kind === "base64") base64.push(piece.bytes);
    else {
      const written: unknown = JSON.parse(base64.map(decodePiece).join(""));
      images.push({ image: { ...piece.members, b64_json: String(written) }, index: piece.index });
    }
  }
  return images;
}

/**
 * The strings of a provider's image that differ in the delivered one, before and after.
 *
 * @param after `undefined` if the image is not delivered
 */
export function listChanges(
  before: ResultImage,
  after: ResultImage | undefined,
): readonly (readonly [before: string, after: string])[] {
  return (["url", "b64_json"] as const).flatMap((name) => {
    const string = before[name];
    return typeof string === "string" && string !== "" ? [[string, after?.[name] ?? ""] as const] : [];
  });
}

type WholeImage = LinkedImage | Extract<ImagePart, { kind: "image" }>;

function isWholeImage(piece: Piece): piece is WholeImage {
  return !isPlain(piece) && (!("kind" in piece) || piece.kind === "image");
}

/** @param image as it is delivered; `undefined` if the operator refused it */
function writeWhole(
  { layout, events }: PieceOutput,
  piece: WholeImage,
  image: ResultImage | undefined,
): readonly string[] {
  if (image === undefined) return [];
  if ("kind" in piece) return [layout.image(image, piece.createdAt)];
  return [events === undefined ? JSON.stringify(image) : writeImage(image)];
}

/** True for a piece that is sent as it is. */
export function isPlain(piece: Piece): piece is PlainPiece {
  return typeof piece === "string" || piece instanceof Uint8Array;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function encodePiece(piece: PlainPiece): Uint8Array {
  return typeof piece === "string" ? encoder.encode(piece) : piece;
}

function decodePiece(piece: PlainPiece): string {
  return typeof piece === "string" ? piece : decoder.decode(piece);
}
