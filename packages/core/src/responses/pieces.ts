import type { ResultImage } from "../types.js";
import type { Awaitable } from "../util/async.js";
import { replaceJsonStrings } from "../util/replace-json-strings.js";
import { toBytes } from "../util/utf8.js";
import type { EarlyPart } from "./early-images.js";
import type { ImageBudget } from "./image-budget.js";
import type { ImageDelivery } from "./image-delivery.js";
import type { ImageLayout, WholeImage } from "./image-parts.js";
import type { Piece } from "./json-reader.js";
import type { Passed } from "./relay.js";
import type { SmallOrLarge } from "./whole-images.js";

/** How the pieces of a response are written for the client. */
export interface PieceOutput {
  readonly delivery: ImageDelivery;
  readonly layout: ImageLayout;
  /** What may be held of images in the store that can be read again. */
  readonly budget: ImageBudget;
  /** True if the bytes are the provider's own. Their images are stored besides. */
  readonly isNative: boolean;
  /** Aborted when the client has disconnected. The download of a link that is not stored then ends. Default: never. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Returns the bytes of the pieces, with images delivered. Without images to deliver the result is not a promise. If the base64
 * of links is sent, the result is an iterable, so that no image is held.
 */
export function writePieces(output: PieceOutput, pieces: readonly Piece[]): Awaitable<Passed> {
  if (pieces.every(isPlain)) return pieces.map(toBytes);
  if (!output.isNative && pieces.some((piece) => isStreamedLink(output.delivery, piece))) {
    return streamPieces(output, pieces);
  }
  return deliverPieces(output, pieces).then((delivered) => delivered.map(toBytes));
}

/** What is sent as it is. */
export type PlainPiece = Uint8Array | string;

/** Stores or converts the images among the pieces, a few at a time, and returns what is sent. */
export async function deliverPieces(
  output: PieceOutput,
  pieces: readonly Piece[],
): Promise<readonly PlainPiece[]> {
  const { delivery, layout, isNative } = output;
  const delivered = (await delivery.whole.deliverAll(pieces.filter(isWholeImage))).values();
  const sent: PlainPiece[] = [];
  for (const piece of pieces) {
    if (isPlain(piece)) {
      sent.push(piece);
      continue;
    }
    if (isEarly(piece)) {
      for await (const written of streamEarly(output, piece)) sent.push(written);
      continue;
    }
    const written = isWholeImage(piece)
      ? writeWhole(output, piece, delivered.next().value)
      : await delivery.write(piece, layout);
    if (!isNative) sent.push(...written);
  }
  return sent;
}

/**
 * As {@link deliverPieces}, for JSON whose images may be links that become base64. A link whose image does not fit into the
 * budget stays among the pieces, for {@link streamPieces}.
 */
export async function deliverSmallPieces(
  { delivery, layout, signal }: PieceOutput,
  pieces: readonly Piece[],
  budget: ImageBudget,
): Promise<readonly Piece[]> {
  const links = pieces.filter((piece) => isStreamedLink(delivery, piece));
  const results = await keepFirstOpen(await delivery.whole.deliverSmall(links, budget, signal));
  const delivered = new Map<Piece, SmallOrLarge | undefined>(links.map((link, at) => [link, results[at]]));
  const sent: Piece[] = [];
  for (const piece of pieces) {
    const result = delivered.get(piece);
    // An early image may be sent while it is read.
    if (isPlain(piece) || isEarly(piece)) sent.push(piece);
    else if (result === undefined) sent.push(...(await delivery.write(piece, layout)));
    else {
      if (!isBegun(piece)) sent.push(layout.beginLink());
      sent.push(result.large ?? JSON.stringify(result.image));
    }
  }
  return sent;
}

/** The first image that is sent while it arrives goes on arriving. The others are downloaded again when it is their turn. */
async function keepFirstOpen(results: readonly SmallOrLarge[]): Promise<readonly SmallOrLarge[]> {
  const first = results.find(({ large }) => large !== undefined);
  return Promise.all(results.map(async (result) => (result === first ? result : closeLarge(result))));
}

/** Ends the download of an image that has not been sent. */
export async function closeLarge(result: SmallOrLarge): Promise<SmallOrLarge> {
  if (result.large === undefined) return result;
  const { arriving, ...link } = result.large;
  await arriving?.return();
  return { large: link };
}

/** Ends the downloads that have begun. An iteration of {@link streamPieces} that has not reached them does not. */
export function closeArriving(pieces: readonly Piece[]): void {
  for (const piece of pieces) {
    // A failed download has no reader any more.
    if (!isPlain(piece) && "arriving" in piece) void piece.arriving?.return().catch(() => undefined);
  }
}

/** True for an image whose base64 is sent while its link is downloaded. */
export function isStreamedLink(delivery: ImageDelivery, piece: Piece): piece is WholeImage {
  return isWholeImage(piece) && delivery.streamsLink(piece.image);
}

/** Delivers the images one after another, while they are sent. A link that becomes base64 is not held. */
export async function* streamPieces(
  output: PieceOutput,
  pieces: readonly Piece[],
): AsyncGenerator<Uint8Array> {
  const { delivery, layout } = output;
  for (const piece of pieces) {
    if (isPlain(piece)) {
      if (piece.length > 0) yield toBytes(piece);
    } else if (isEarly(piece)) {
      for await (const written of streamEarly(output, piece)) yield toBytes(written);
    } else if (!isStreamedLink(delivery, piece)) {
      yield* (await delivery.write(piece, layout)).map(toBytes);
    } else {
      const before = isBegun(piece) ? "" : layout.beginLink(piece.createdAt);
      if (before !== "") yield toBytes(before);
      yield* streamLink(output, piece);
    }
  }
}

/** An image that is not held is read from the store while it is sent. */
async function* streamEarly(
  { delivery, layout, budget, signal }: PieceOutput,
  part: EarlyPart,
): AsyncGenerator<PlainPiece> {
  for (const piece of await delivery.writeEarly(part, layout, budget)) {
    if (typeof piece === "string" || piece instanceof Uint8Array) {
      yield piece;
      continue;
    }
    const before = layout.beginLink(piece.createdAt);
    if (before !== "") yield before;
    yield* delivery.streamed.streamStored(piece, layout, signal);
  }
}

async function* streamLink(
  { delivery, layout, signal }: PieceOutput,
  image: WholeImage,
): AsyncGenerator<Uint8Array> {
  for await (const part of delivery.streamed.streamLink(image, layout, signal)) {
    yield toBytes(part);
  }
}

/** A provider's own JSON, in which the images have the links of the store. An image that was refused is empty. */
export async function replaceImages(delivery: ImageDelivery, pieces: readonly Piece[]): Promise<string> {
  const images = joinImages(pieces);
  const delivered = await delivery.whole.deliverAll(images);
  const text = pieces.filter(isPlain).map(decodePiece).join("");
  return replaceJsonStrings(
    text,
    new Map(images.flatMap(({ image }, at) => listChanges(image, delivered[at]))),
  );
}

/** The images among the pieces. The base64 of an image in parts is joined. */
function joinImages(pieces: readonly Piece[]): readonly WholeImage[] {
  const images: WholeImage[] = [];
  let base64: Uint8Array[] = [];
  for (const piece of pieces) {
    // A provider's own JSON is not stored early.
    if (isPlain(piece) || isEarly(piece)) continue;
    if (isWholeImage(piece)) images.push(piece);
    else if (piece.kind === "begin") base64 = [];
    else if (piece.kind === "base64") base64.push(piece.bytes);
    else {
      const written: unknown = JSON.parse(base64.map(decodePiece).join(""));
      images.push({
        kind: "image",
        image: { ...piece.members, b64_json: String(written) },
        index: piece.index,
      });
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

function isWholeImage(piece: Piece): piece is WholeImage {
  return !isPlain(piece) && piece.kind === "image";
}

function isBegun(piece: Piece): boolean {
  return isWholeImage(piece) && piece.isBegun === true;
}

/** @param image as it is delivered; `undefined` if the operator refused it */
function writeWhole(
  { layout }: PieceOutput,
  piece: WholeImage,
  image: ResultImage | undefined,
): readonly string[] {
  if (image === undefined) return [];
  return [piece.isBegun === true ? JSON.stringify(image) : layout.image(image, piece.createdAt)];
}

function isEarly(piece: Piece): piece is EarlyPart {
  return !isPlain(piece) && piece.kind === "early";
}

/** About the bytes that are sent for the pieces, without those of links. Infinity if an image is read when it is sent. */
export function measurePieces(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, piece) => sum + measurePiece(piece), 0);
}

function measurePiece(piece: Piece): number {
  if (isPlain(piece)) return piece.length;
  if (isEarly(piece)) return piece.image.byteLength;
  if (isWholeImage(piece)) return piece.image.b64_json?.length ?? 0;
  return piece.kind === "base64" ? piece.bytes.length : 0;
}

/** True for a piece that is sent as it is. */
export function isPlain(piece: Piece): piece is PlainPiece {
  return typeof piece === "string" || piece instanceof Uint8Array;
}
const decoder = new TextDecoder();

function decodePiece(piece: PlainPiece): string {
  return typeof piece === "string" ? piece : decoder.decode(piece);
}
