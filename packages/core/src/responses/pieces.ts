import type { ResultImage } from "../types.js";
import type { Awaitable } from "../util/async.js";
import { toBytes } from "../util/utf8.js";
import type { ImageBudget } from "./image-budget.js";
import type { WholeImage } from "./image-parts.js";
import type { EarlyPart, ImageDelivery, LaterPiece, Piece, PlainPiece } from "./image-stage.js";
import {
  deliverAll,
  deliverSmall,
  type ImageOutput,
  type SmallOrLarge,
  streamLink,
  streamsLink,
} from "./linked-images.js";
import type { Passed } from "./relay.js";

/** How the pieces of a response are written for the client. */
export interface PieceOutput extends ImageOutput {
  /** What may be held of images that can be read again. */
  readonly budget: ImageBudget;
}

/**
 * Returns the bytes of the pieces, with images delivered. Without images to deliver the result is not a promise. If the base64
 * of links is sent, the result is an iterable, so that no image is held.
 */
export function writePieces(output: PieceOutput, pieces: readonly Piece[]): Awaitable<Passed> {
  const [only] = pieces;
  if (pieces.length === 1 && only instanceof Uint8Array) return only;
  if (pieces.every(isPlain)) return pieces.map(toBytes);
  if (pieces.some((piece) => isStreamedLink(output.delivery, piece))) {
    return streamPieces(output, pieces);
  }
  return deliverPieces(output, pieces).then((delivered) => delivered.map(toBytes));
}

/** Stores or converts the images among the pieces, a few at a time, and returns what is sent. */
export async function deliverPieces(
  output: PieceOutput,
  pieces: readonly Piece[],
): Promise<readonly PlainPiece[]> {
  const { delivery, layout } = output;
  // The bytes are the provider's own. Their images are stored besides.
  const isNative = delivery.options.format === "provider";
  const delivered = (await deliverAll(delivery, pieces.filter(isWholeImage))).values();
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
  const results = await keepFirstOpen(await deliverSmall(delivery, links, { budget, signal }));
  const delivered = new Map<Piece, SmallOrLarge | undefined>(links.map((link, at) => [link, results[at]]));
  const sent: Piece[] = [];
  for (const piece of pieces) {
    const result = delivered.get(piece);
    // An early image may be sent while it is read.
    if (isPlain(piece) || isEarly(piece)) sent.push(piece);
    else if (result === undefined) sent.push(...(await delivery.write(piece, layout)));
    else if (result.large !== undefined || result.image !== undefined) {
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
  return isWholeImage(piece) && streamsLink(delivery, piece.image);
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
      for await (const part of streamLink(output, piece)) yield toBytes(part);
    }
  }
}

/** An image that is not held is read from the store while it is sent. */
async function* streamEarly(
  { layout, budget, signal }: PieceOutput,
  part: EarlyPart,
): AsyncGenerator<PlainPiece> {
  for (const piece of await part.image.write(part, layout, budget)) {
    if (isPlain(piece)) {
      yield piece;
      continue;
    }
    const before = layout.beginLink(piece.createdAt);
    if (before !== "") yield before;
    yield* piece.send(layout, signal);
  }
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
export function isPlain(piece: Piece | LaterPiece): piece is PlainPiece {
  return typeof piece === "string" || piece instanceof Uint8Array;
}
