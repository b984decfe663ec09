import type { ResultImage } from "../types.js";
import type { JsonObject } from "../util/json.js";
import type { ArrivingBytes } from "./image-budget.js";
import { type OpenAiEvents, writeImage, writeMembers, writeMissing } from "./openai-events.js";

/**
 * A part of an image of a response, in the order in which it arrives. A short image is one part. An image with long base64
 * is a `begin`, its base64 in parts, and an `end`.
 */
export type ImagePart =
  | WholeImage
  | {
      readonly kind: "begin";
      /** The members before the base64. */
      readonly members: JsonObject;
      readonly createdAt?: number | undefined;
    }
  | {
      readonly kind: "base64";
      /** A part of a JSON string, with its quotes. */
      readonly bytes: Uint8Array;
    }
  | EndPart;

/** The end of an image with long base64. */
export interface EndPart {
  readonly kind: "end";
  /** All members; of the base64 only the beginning. */
  readonly members: JsonObject;
  /** The members after the base64. */
  readonly later: JsonObject;
  /** The index of the image in the provider's batch, from 0. */
  readonly index: number;
}

/** A short image: a link, or base64 of at most 16 KiB. */
export interface WholeImage {
  readonly kind: "image";
  readonly image: ResultImage;
  /** The index of the image in the provider's batch, from 0. */
  readonly index: number;
  /** When it was made, in seconds since 1970, if the provider said so. */
  readonly createdAt?: number | undefined;
  /** True if what comes before the image, such as a comma, has been written. Default false. */
  readonly isBegun?: boolean;
  /** The bytes of a link, if its download has begun. */
  readonly arriving?: ArrivingBytes | undefined;
}

/** How the images of a response are written for the client. Each method returns the text to send. */
export interface ImageLayout {
  /** The beginning of an image, up to its base64. */
  begin(members: JsonObject, createdAt?: number): string;
  /**
   * The end of an image, after its base64.
   *
   * @param later the members after the base64
   * @param members all members; of the base64 only the beginning
   */
  end(later: JsonObject, members: JsonObject): string;
  /** A whole image. */
  image(image: JsonObject, createdAt?: number): string;
  /** What comes before an image whose base64 is sent while it is read. One of the next three methods follows. */
  beginLink(createdAt?: number): string;
  /** The image as it is, because it could not be read. */
  link(image: JsonObject): string;
  /** The beginning of the image, up to its base64. */
  beginBase64(): string;
  /**
   * The end of the image, after its base64. Call {@link ImageLayout.sentLink} when it has been sent.
   *
   * @param members all members but the base64
   * @param start the beginning of the base64
   */
  endBase64(members: JsonObject, start: string): string;
  sentLink(): void;
}

/** Items of a JSON array. */
export class JsonLayout implements ImageLayout {
  #images = 0;

  begin(members: JsonObject): string {
    const before = writeMembers(members).slice(1);
    return `${this.#separate()}{${before}${before === "" ? "" : ","}"b64_json":`;
  }

  end(later: JsonObject): string {
    return `${writeMembers(later)}}`;
  }

  image(image: JsonObject): string {
    return this.#separate() + JSON.stringify(image);
  }

  beginLink(): string {
    return this.#separate();
  }

  link(image: JsonObject): string {
    return JSON.stringify(image);
  }

  beginBase64(): string {
    return '{"b64_json":"';
  }

  endBase64(members: JsonObject): string {
    return `"${writeMembers(members)}}`;
  }

  sentLink(): void {}

  #separate(): string {
    return this.#images++ === 0 ? "" : ",";
  }
}

/** Events of OpenAI's images API. */
export class EventLayout implements ImageLayout {
  readonly #events: OpenAiEvents;
  readonly #isLastImage: () => boolean;

  /** @param isLastImage whether the image that ends now may be the last one, so that its event waits for the usage */
  constructor(events: OpenAiEvents, isLastImage: () => boolean) {
    this.#events = events;
    this.#isLastImage = isLastImage;
  }

  begin(members: JsonObject, createdAt?: number): string {
    return `${this.#events.beginImage(createdAt)}${writeMembers(members)},"b64_json":`;
  }

  end(later: JsonObject, members: JsonObject): string {
    return writeMembers(later) + writeMissing(members) + this.#events.endImage(this.#isLastImage());
  }

  image(image: JsonObject, createdAt?: number): string {
    const event = this.#events.beginImage(createdAt) + writeImage(image);
    return event + this.#events.endImage(this.#isLastImage());
  }

  beginLink(createdAt?: number): string {
    const event = this.#events.beginImage(createdAt);
    // It may be the last image, so its event stays open. Heartbeats are possible until the download begins.
    return event + this.#events.endImage(true);
  }

  link(image: JsonObject): string {
    return writeImage(image);
  }

  beginBase64(): string {
    this.#events.beginLink();
    return ',"b64_json":"';
  }

  endBase64(members: JsonObject, start: string): string {
    return `"${writeMembers(members)}${writeMissing({ ...members, b64_json: start })}`;
  }

  sentLink(): void {
    this.#events.endLink();
  }
}

/** Writes the parts of an image as they are. */
export function writePart(part: ImagePart, layout: ImageLayout): string | Uint8Array {
  switch (part.kind) {
    case "begin":
      return layout.begin(part.members, part.createdAt);
    case "base64":
      return part.bytes;
    case "end":
      return layout.end(part.later, part.members);
    case "image":
      return layout.image(part.image, part.createdAt);
  }
}
