import type { StreamShape } from "../../families/response-shape.js";
import { EventLines } from "../../responses/event-lines.js";
import { type ImagePart, JsonLayout, type WholeImage } from "../../responses/image-parts.js";
import type { ImageDelivery, Piece, PlainPiece, StagedDelivery } from "../../responses/image-stage.js";
import { deliverAll } from "../../responses/linked-images.js";
import { isPlain } from "../../responses/pieces.js";
import { HEARTBEAT, type StreamTranslation } from "../../responses/sse.js";
import { EventObject } from "../../responses/stream-images.js";
import type { ResultError, ResultImage } from "../../types.js";
import { TransportError } from "../../upstream/transport.js";
import { createHeldBytes } from "../../util/held-bytes.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import { replaceJsonStrings } from "../../util/replace-json-strings.js";
import { encodeText } from "../../util/utf8.js";

const decoder = /* @__PURE__ */ new TextDecoder();

/** A provider's own JSON, in which the images have the links of the store. An image that was refused is empty, and has an `error`. */
export async function rewriteJson(delivery: ImageDelivery, pieces: readonly Piece[]): Promise<string> {
  const images = joinImages(pieces);
  const delivered = await deliverAll(delivery, images);
  const text = pieces.filter(isPlain).map(decodePiece).join("");
  return replaceJsonStrings(
    text,
    new Map(
      images.flatMap(({ image, index }, at) =>
        listChanges(image, delivered[at], delivery.errors.find(index)),
      ),
    ),
  );
}

/** The images among the pieces. The base64 of an image in parts is joined. */
function joinImages(pieces: readonly Piece[]): readonly WholeImage[] {
  const images: WholeImage[] = [];
  let base64: Uint8Array[] = [];
  for (const piece of pieces) {
    // A provider's own JSON is not stored early.
    if (isPlain(piece) || piece.kind === "early") continue;
    if (piece.kind === "image") images.push(piece);
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
 * The strings of a provider's image, and the JSON that is written in place of each.
 *
 * @param after `undefined` if the image is not delivered. It is then empty, with an error after its first string, which is the value
 * of a member
 */
function listChanges(
  before: ResultImage,
  after: ResultImage | undefined,
  error: ResultError | undefined,
): readonly (readonly [before: string, json: string])[] {
  let member = after === undefined && error !== undefined ? writeErrorMember(error) : "";
  return (["url", "b64_json"] as const).flatMap((name) => {
    const string = before[name];
    if (typeof string !== "string" || string === "") return [];
    const json = JSON.stringify(after?.[name] ?? "") + member;
    member = "";
    return [[string, json] as const];
  });
}

function decodePiece(piece: PlainPiece): string {
  return typeof piece === "string" ? piece : decoder.decode(piece);
}

/** A delivery whose arriving image can be cancelled. */
type NativeDelivery = StagedDelivery & { cancelImage(cause: unknown): void };

/** An event of up to this size is held until its end, so that its link can be replaced. */
const MAX_HELD_BYTES = 16 * 1024;
/** With `afterImage`, a larger event breaks the stream. It has room for an image of 64 MiB in base64. */
const MAX_EVENT_BYTES = 96 * 1024 * 1024;
/**
 * Stores the images of a provider's stream while it is relayed. An event keeps everything but its link. Long base64 goes to
 * the client and into the store at the same time. With the operator's `afterImage`, an event is held until that function has
 * seen its image; the event of a refused image becomes one of an image that failed. Line ends become LF.
 */
export class NativeStream implements StreamTranslation {
  readonly #delivery: NativeDelivery;
  readonly #shape: StreamShape;
  readonly #renderFailure: (error: unknown) => string;
  readonly #lines: EventLines;
  /** The event so far, unless it is sent while it arrives. */
  readonly #held = createHeldBytes();
  #isForwarding = false;
  #current: EventObject | undefined;
  #images = 0;
  #steps: Step[] = [];

  /** @param renderFailure renders the event for a stream that broke off between two events */
  constructor(delivery: NativeDelivery, shape: StreamShape, renderFailure: (error: unknown) => string) {
    this.#delivery = delivery;
    this.#shape = shape;
    this.#renderFailure = renderFailure;
    this.#lines = new EventLines({
      onBytes: (bytes) => this.#addBytes(bytes),
      onData: (bytes) => {
        this.#current ??= new EventObject(shape, (part) => void this.#steps.push({ part }));
        this.#current.push(bytes);
      },
      onEvent: (name) => this.#endEvent(name ?? ""),
    });
  }

  async push(chunk: Uint8Array): Promise<readonly Uint8Array[]> {
    this.#lines.push(chunk);
    const steps = this.#steps;
    this.#steps = [];
    const sent: Uint8Array[] = [];
    for (const step of steps) {
      const bytes = await this.#take(step);
      if (bytes !== undefined) sent.push(bytes);
    }
    return sent;
  }

  checkEnd(): void {}

  end(): readonly Uint8Array[] {
    // The operator's function has not seen the image of an event that is not complete.
    const isUnseen = this.#current !== undefined && this.#delivery.holdsImages;
    return this.#held.length === 0 || isUnseen ? [] : [this.#held.take()];
  }

  fail(error: unknown): Uint8Array | undefined {
    // A part of an event that was held is dropped.
    return this.#isForwarding ? undefined : encodeText(this.#renderFailure(error));
  }

  beat(): readonly Uint8Array[] {
    return this.#isForwarding ? [] : [encodeText(HEARTBEAT)];
  }

  #addBytes(bytes: Uint8Array): void {
    if (this.#isForwarding) {
      this.#steps.push({ bytes });
      return;
    }
    this.#held.add(bytes);
    if (this.#held.length <= MAX_HELD_BYTES) return;
    if (this.#delivery.holdsImages) {
      if (this.#held.length <= MAX_EVENT_BYTES) return;
      throw new TransportError("broken", new Error(`An event is larger than ${MAX_EVENT_BYTES} bytes.`));
    }
    this.#isForwarding = true;
    this.#steps.push({ bytes: this.#held.take() });
  }

  #endEvent(name: string): void {
    const event = this.#current;
    this.#current = undefined;
    const part = event && this.#endObject(event, name);
    if (part !== undefined) this.#images++;
    if (this.#isForwarding) {
      this.#isForwarding = false;
      if (part !== undefined) this.#steps.push({ part });
      return;
    }
    this.#steps.push(part === undefined ? { bytes: this.#held.take() } : { event: this.#held.take(), part });
  }

  /** The last part of the image of an event. An event that is not JSON is passed on, and its image is not stored. */
  #endObject(event: EventObject, name: string): ImagePart | undefined {
    try {
      return event.end(name, this.#images);
    } catch (error) {
      this.#steps.push({ error });
      return undefined;
    }
  }

  async #take(step: Step): Promise<Uint8Array | undefined> {
    const delivery = this.#delivery;
    if ("error" in step) delivery.cancelImage(step.error);
    if (!("part" in step)) return "bytes" in step ? step.bytes : undefined;
    if ("event" in step) return this.#deliverEvent(decoder.decode(step.event), step.part);
    // The bytes were sent. In an event that is held, the image is delivered at its end.
    if (!delivery.holdsImages) await delivery.write(step.part, new JsonLayout());
    return undefined;
  }

  /** A whole event with the delivered image. If it was refused, the provider's event of an image that failed. */
  async #deliverEvent(text: string, part: ImagePart): Promise<Uint8Array | undefined> {
    const image = part.kind === "image" ? part.image : readData(text);
    if (part.kind === "begin" || part.kind === "base64") return encodeText(text);
    const delivered = await this.#delivery.deliver(image, part.index);
    if (delivered === undefined) return this.#writeRefused(readData(text), part.index);
    const changes = new Map(listChanges(image, delivered, undefined));
    const lines = text.split("\n");
    return encodeText(
      lines.map((line) => (isData(line) ? replaceJsonStrings(line, changes) : line)).join("\n"),
    );
  }

  #writeRefused(event: JsonObject, index: number): Uint8Array | undefined {
    const error = this.#delivery.errors.find(index);
    if (error === undefined) return undefined;
    const failed = toFailedEvent(this.#shape, event, error);
    return encodeText(`event: ${String(failed["type"])}\ndata: ${JSON.stringify(failed)}\n\n`);
  }
}

function isData(line: string): boolean {
  return line.startsWith("data:");
}

/** What happens in the order of the stream: bytes are sent, an image turns out not to be JSON, a part of an image is stored, or an event with an image ends. */
type Step =
  | { readonly bytes: Uint8Array }
  | { readonly error: unknown }
  | { readonly part: ImagePart }
  | { readonly event: Uint8Array; readonly part: ImagePart };

/**
 * The event of an image that failed. Ark's own, or for OpenAI, which has none, the event of the gateway with the usage, so that the
 * sum over all events stays right.
 */
function toFailedEvent({ leftOut, format }: StreamShape, event: JsonObject, error: ResultError): JsonObject {
  const kept = Object.fromEntries(leftOut.map((name) => [name, event[name]]));
  if (format !== "openai") return { ...kept, type: "image_generation.partial_failed", error: toShown(error) };
  return { ...kept, type: String(event["type"]).replace("completed", "usage"), extra: { errors: [error] } };
}

type ShownError = Pick<ResultError, "code" | "message">;

const toShown = ({ code, message }: ShownError): ShownError => ({ code, message });

/** The error of an image that is not delivered, as a further member of its object. */
export const writeErrorMember = (error: ShownError): string => `,"error":${JSON.stringify(toShown(error))}`;

/** The data of an event that was held. */
function readData(text: string): JsonObject {
  const lines = text.split("\n").filter(isData);
  const value: unknown = JSON.parse(lines.map((line) => line.slice("data:".length)).join("\n"));
  return isJsonObject(value) ? value : {};
}
