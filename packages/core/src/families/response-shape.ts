import type { MadeImage, ReportedFailure, ResultError, StreamFormat, Usage } from "../types.js";

/** Reads from the events of one stream what was made and used. */
export interface StreamReader {
  read(event: { readonly event?: string | undefined; readonly data: string }): void;
  /**
   * True when the last relevant event has arrived. The client then gets it only after the request is settled. Absent:
   * the client gets each event at once, and only the end of the stream waits.
   */
  readonly isOver?: boolean;
  /** Returns what is known so far. At the end of the stream, this is charged. */
  result(): StreamResult;
}

/** The facts that a stream reported. */
export interface StreamResult {
  /** The number of different images in the stream. */
  readonly images: number;
  /** `undefined` if the stream reported nothing that was made. */
  readonly usage: Usage | undefined;
  /** What the events say about each image that was made. Default: nothing. */
  readonly made?: readonly MadeImage[] | undefined;
  /**
   * True if the tokens of some images are not in `usage`, because their sizes are unknown. If tokens have a price,
   * the record is marked `unpriced`. Default false.
   */
  readonly hasUnknownTokens?: boolean | undefined;
  /**
   * The error that ended the stream, with the provider's code and message. If it has a `kind` and the stream has no
   * image, the failure counts in the health of the channel, key or model.
   */
  readonly failure: ReportedFailure | undefined;
  /**
   * The images of the batch that failed, in the order of the events. If the stream has no image, the first one is the
   * error of the stream. Default: none.
   */
  readonly errors?: readonly ResultError[] | undefined;
}

/**
 * Where a family's response has which information, and how to read it, so that a response of megabytes can be read
 * while it is relayed. The names are those of top-level members. Every function is pure.
 */
export interface ResponseShape {
  /** The provider's name of the model. The client gets the service name in its place. */
  readonly model: string;
  /** False if a response without the provider's name of the model gets no name from the gateway. Default true. */
  readonly addsModel?: boolean | undefined;
  /** The time at which the response was created. */
  readonly created: string;
  /** The array of images and of items that failed. */
  readonly items: string;
  readonly usage: string;
  /** True if `usage` says no number of images. The images of a complete response are then counted. Default false. */
  readonly countsItems?: boolean | undefined;
  /** Members that describe each of the images, as the members of the same name in an item do. Default: none. */
  readonly ofAllImages?: readonly ("size" | "quality")[] | undefined;
  /** The error of the whole response. */
  readonly failure: string;
  /** The provider's request id, if the body contains it. */
  readonly requestId?: string | undefined;
  /**
   * Members of an item that the client does not get, such as `type` or `created_at`, which OpenAI's events use for something
   * else. Members that are `null` are then left out too; with an empty list only those. Native endpoints send all members.
   * `fromUpstream` leaves them out by itself. Default: none.
   */
  readonly leftOut?: readonly string[] | undefined;
  /** Whether an item is an image, or the reason why it is not. `index` is its position in the batch. */
  readItem(item: unknown, index: number): "image" | ResultError;
  /** Returns `undefined` if the provider reported nothing that can be used. */
  readUsage(usage: unknown): Usage | undefined;
  /** Returns `undefined` if the member reports no failure. */
  readFailure(failure: unknown): ReportedFailure | undefined;
  /** Returns seconds since 1970, or `undefined` if the member is not a time. */
  readCreated(created: unknown): number | undefined;
}

/**
 * Which of a family's events has an image, so that the gateway can make the events of OpenAI's images API from them
 * without holding an image. The image is in the member `url` or `b64_json` of the event.
 */
export interface StreamShape {
  /**
   * The `type` in the data of the events with a finished image, or the name of the event if its data has no `type`. Each
   * such event has one image.
   */
  readonly imageEvents: readonly string[];
  /**
   * `openai` if the provider sends the events of OpenAI's images API, with all of their members. They are then relayed as
   * sent, also to a client that asked for the stream format `openai`. Default `native`.
   */
  readonly format?: StreamFormat | undefined;
  /** The member with the time at which the image was made, in seconds since 1970. */
  readonly created: string;
  /** Members that do not describe the image. All other members become members of OpenAI's event. */
  readonly leftOut: readonly string[];
}
