import type { BilledRequest } from "../billing/records.js";
import type { StreamShape } from "../families/response-shape.js";
import type { GatewayRequest } from "../http.js";
import type { ResultSource } from "../images/link-hosts.js";
import type { Endpoint } from "../request/route.js";
import type { Operation, ResultImage } from "../types.js";
import type { DispatchRequest } from "../upstream/dispatch.js";
import type { CallMarks } from "../upstream/image-marks.js";
import type { Transport } from "../upstream/transport.js";
import type { ByteCount } from "../util/held-bytes.js";
import type { ImageBudget } from "./image-budget.js";
import type { ImageErrors } from "./image-errors.js";
import type { EndPart, ImageLayout, ImagePart } from "./image-parts.js";
import type { StreamTranslation } from "./sse.js";

/** Stores, changes or refuses images on their way to the client. */
export interface ImageStage {
  /** Whether the images of such requests pass through the stage. */
  handles(operation: Operation): boolean;
  /**
   * Returns what `linkBase` of the call is. It is empty if the gateway does not serve the images.
   *
   * @throws GatewayError `invalid_request_error` if the request has no valid `Host` header
   */
  findLinkBase(request: GatewayRequest, endpoint: Endpoint): string;
  /** Creates the delivery of the images of one response. `undefined` if the stage does not handle the request. */
  createDelivery(options: ImageDeliveryOptions, call: DeliveredCall): StagedDelivery | undefined;
}

/** The call that made the images. */
export interface DeliveredCall extends Pick<DispatchRequest, "id" | "request" | "logger"> {
  /** What the usage record says of the call. A stage that stores images adds their ids. */
  readonly billed: Pick<BilledRequest, "caller" | "stored">;
  /** The URL of the gateway before `/v1/…`, for links to its images. Empty without a stage, and if a store makes the links. */
  readonly linkBase: string;
  /** One of several calls of a request: the index of its first image among the images that all calls can make. Default 0. */
  readonly firstImageIndex?: number | undefined;
  /** Counts the bytes of the response while they are held. */
  readonly bytes: ByteCount;
  /** Learns of images with a link before the response is complete, in the order in which they are delivered. */
  readonly onImage?: ((image: ResultImage) => void) | undefined;
}

/** What the delivery of images needs. */
export interface ImageDeliveryOptions extends Pick<DeliveredCall, "bytes" | "logger" | "onImage"> {
  readonly transport: Transport;
  /** The channel that made the images. */
  readonly source: ResultSource;
  /** What the client gets. `provider`: what the provider sent, a link or base64. */
  readonly format: "url" | "b64_json" | "provider";
  /** Marks images that are downloaded. `undefined`: they are not marked. */
  readonly marks?: CallMarks | undefined;
}

/**
 * Returns a delivery that refuses images without a mark.
 *
 * @param inner the delivery of the stage that the images pass through. `undefined`: they pass through none
 */
export type RequireMarks = (
  options: ImageDeliveryOptions & { readonly marks: CallMarks },
  inner: StagedDelivery | undefined,
) => StagedDelivery;

/** Delivers the images of one response. What goes wrong is in `errors`; it never fails the response. */
export interface ImageDelivery {
  readonly options: ImageDeliveryOptions;
  readonly errors: ImageErrors;
  /** True if long base64 is sent to the client while it arrives. Otherwise it is sent when the image is complete. */
  readonly forwardsBase64: boolean;
  /** Delivers an image that is a link or has short base64, and is not downloaded. `undefined` if it is not delivered. */
  deliver(image: ResultImage, index: number): Promise<ResultImage | undefined>;
  /**
   * Returns what is sent for the parts of images. Call it with the parts in order, and wait for each result. An image that is
   * not delivered is left out.
   */
  write(part: ImagePart, layout: ImageLayout): Promise<readonly PlainPiece[]>;
  /**
   * Begins a copy of an image that is downloaded. Absent: images are not copied.
   *
   * @param byteLength the number of its bytes, if it is known
   */
  readonly copyLink?: ((index: number, byteLength?: number) => ImageCopy) | undefined;
  /**
   * Returns what is delivered of an image whose link could not be downloaded. `undefined`: nothing. Absent: it stays a link. The error
   * was added.
   */
  keepLink?(image: ResultImage, error: unknown): ResultImage | undefined;
}

/** The delivery of images that pass through a stage. */
export interface StagedDelivery extends ImageDelivery {
  /** True if an image is delivered only when it is complete and was accepted. If every image is refused, the response is an error. */
  readonly holdsImages: boolean;
  /** Takes images of a response whose end says which strings are images. `undefined` if such a response must be held anyway. */
  readonly early: EarlyImages | undefined;
  /** As {@link ImageDelivery.write}, for a response that is sent later. The budget is for images that can be read again. */
  writeLater(part: ImagePart, layout: ImageLayout, budget: ImageBudget): Promise<readonly LaterPiece[]>;
  /** Returns a provider's own JSON, given with its images, as it is delivered. An image that is not delivered is empty. */
  rewriteJson(pieces: readonly Piece[]): Promise<string>;
  /**
   * Relays a provider's own events with the images as they are delivered.
   *
   * @param renderFailure renders the event for a stream that broke off between two events
   */
  translateEvents(shape: StreamShape, renderFailure: (error: unknown) => string): StreamTranslation;
  /** The image that is arriving will not be complete. */
  cancelImage(cause: unknown): void;
  /** No further part comes. An image that is arriving will not be complete. */
  cancel(cause: unknown): void;
}

/** What is sent as it is. */
export type PlainPiece = Uint8Array | string;

/** A part of the response to the client: bytes, a string, or a part of an image that is delivered. */
export type Piece = PlainPiece | ImagePart | EarlyPart;

/** What is sent later for a part of an image. */
export type LaterPiece = PlainPiece | LaterImage;

/** An image in base64 that is read when it is sent. */
export interface LaterImage {
  readonly kind: "later";
  readonly createdAt?: number | undefined;
  /**
   * Returns what is sent for the image.
   *
   * @param signal ends the reading when the client has disconnected
   * @throws DownloadError if the image breaks off, because a part of it has been sent
   */
  send(layout: ImageLayout, signal: AbortSignal | undefined): AsyncIterable<string>;
}

/** The copy of an image that is being downloaded. */
export interface ImageCopy {
  /** Resolves when the next bytes may come. Does not reject. */
  write(chunk: Uint8Array): Promise<void>;
  /** Returns the link of the copy. `undefined` if there is none. */
  end(): Promise<string | undefined>;
  /** The image is not complete. Without effect when the copy has ended. */
  cancel(cause: unknown): void;
}

/** Takes strings that may be images while they arrive. */
export interface EarlyImages {
  /** Begins an image. `undefined` if the response has too many. */
  begin(): EarlyImage | undefined;
  /** Call it after each chunk, and wait for it. Returns how many bytes of the response are not held any more. */
  drain(): Promise<number>;
  /** Call at the end of the response with its images. The others are drafts. */
  choose(images: ReadonlySet<EarlyImage>): void;
  /** Ends the images at the same time. Only then their `byteLength` is known. */
  endAll(): Promise<void>;
}

/** One of {@link EarlyImages}. */
export interface EarlyImage {
  /** The length of the base64 if it is in memory, 0 if the image is lost, and otherwise Infinity. */
  readonly byteLength: number;
  /** @param base64 a part of a JSON string, with its quotes. The memory is used until the next {@link EarlyImages.drain}. */
  push(base64: Uint8Array): void;
  /** As {@link StagedDelivery.writeLater}. All early images of the response end at the first call. */
  write(part: EarlyPart, layout: ImageLayout, budget: ImageBudget): Promise<readonly LaterPiece[]>;
}

/** An image in base64 that was taken while it arrived. Its base64 comes before the other members. */
export interface EarlyPart extends Omit<EndPart, "kind"> {
  readonly kind: "early";
  readonly image: EarlyImage;
  readonly createdAt?: number | undefined;
}
