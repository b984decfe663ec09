import type { Operation, ResultError } from "../types.js";
import { type JsonObject, omitMembers } from "../util/json.js";
import { encodeText } from "../util/utf8.js";
import type { ErrorEnvelope } from "./envelope.js";
import { completeUsage } from "./openai-usage.js";
import { HEARTBEAT } from "./sse.js";

/** What is known when all images have been sent. */
export interface StreamSummary {
  /** The provider's report. `undefined` if it reported none. */
  readonly usage: unknown;
  /** The images that could not be made or converted. */
  readonly errors: readonly ResultError[];
}

/**
 * Writes the events of OpenAI's images API: one `image_generation.completed` (edits: `image_edit.completed`) for each
 * image. The event of the last image stays open until the usage is known, so that no image has to be held back. The events
 * before it have a usage of zeros, so that the sum is that of all images. If the usage comes after the last event was closed,
 * it gets an event of its own, `image_generation.usage`.
 *
 * Except for {@link OpenAiEvents.beat}, every method returns the text to send next. The type of the events is that of the API reference of OpenAI, November
 * 2026.
 */
export class OpenAiEvents {
  readonly #prefix: string;
  readonly #now: number;
  #images = 0;
  /** `inside`: an image has begun. `open`: the image of the event is complete, its event is not. */
  #state: "between" | "inside" | "open" = "between";
  #isInsideLink = false;

  /** @param now the current time in seconds since 1970 */
  constructor(operation: Operation, now: number) {
    this.#prefix = operation === "edit" ? "image_edit" : "image_generation";
    this.#now = now;
  }

  /** The number of images whose event has begun. */
  get images(): number {
    return this.#images;
  }

  /** Begins the event of an image. The members of the image follow, each with a comma before it. */
  beginImage(createdAt = this.#now): string {
    const before = this.closeImage();
    this.#state = "inside";
    this.#images++;
    return before + this.#begin("completed", createdAt);
  }

  /**
   * Ends an image.
   *
   * @param staysOpen true if this may be the last image: its event is then closed when the usage is known, or when
   * another image begins
   */
  endImage(staysOpen: boolean): string {
    this.#state = "open";
    return staysOpen ? "" : this.closeImage();
  }

  /** True if an image has begun and not ended. Nothing else can be sent then. */
  get isInsideImage(): boolean {
    return this.#state === "inside" || this.#isInsideLink;
  }

  /** Call before the base64 of a link is sent. The members around it may have been written before. */
  beginLink(): void {
    this.#isInsideLink = true;
  }

  /** Call when the base64 of a link has been sent. */
  endLink(): void {
    this.#isInsideLink = false;
  }

  /** Closes the event of the last image, if it is open. Without a usage it has one of zeros. */
  closeImage(usage?: unknown, extra?: JsonObject): string {
    const isOpen = this.#state === "open";
    this.#state = "between";
    return isOpen ? `${writeMembers({ usage: completeUsage(usage), ...extra })}}\n\n` : "";
  }

  /** The end of a stream with at least one image. */
  end({ usage, errors }: StreamSummary): string {
    const extra = errors.length > 0 ? { extra: { errors } } : undefined;
    let head = "";
    if (this.#state !== "open" && (usage ?? extra) !== undefined) {
      head = this.#begin("usage", this.#now);
      this.#state = "open";
    }
    return `${head}${this.closeImage(usage, extra)}data: [DONE]\n\n`;
  }

  /** The end of a stream that failed. `undefined` inside an image: the event of the error would become part of it. */
  fail(envelope: ErrorEnvelope): string | undefined {
    if (this.isInsideImage) return undefined;
    return `${this.closeImage()}event: error\ndata: ${JSON.stringify(envelope)}\n\n`;
  }

  /** What can be sent while there is nothing else to send. Nothing can be sent inside an image. */
  beat(): readonly Uint8Array[] {
    if (this.isInsideImage) return [];
    // White space is allowed between the members of the open event.
    return [encodeText(this.#state === "open" ? " " : HEARTBEAT)];
  }

  #begin(name: "completed" | "usage", createdAt: number): string {
    const type = `${this.#prefix}.${name}`;
    return `event: ${type}\ndata: {"type":"${type}","created_at":${createdAt}`;
  }
}

/** The members of an object, each with a comma before it. */
export function writeMembers(members: JsonObject): string {
  const written = JSON.stringify(members).slice(1, -1);
  return written === "" ? "" : `,${written}`;
}

/** The members of an image, with those of {@link writeMissing}. */
export function writeImage(image: JsonObject): string {
  return writeMembers(image) + writeMissing(image);
}

/** What OpenAI's events say of an image for which it is not stated. */
const NOT_STATED: JsonObject = { size: "auto", quality: "auto", background: "auto" };

/**
 * The members that an event of OpenAI must have and an image does not state. `output_format` is read from its first bytes.
 *
 * @param image its members; long strings may be cut
 */
export function writeMissing(image: JsonObject): string {
  const base64 = String(image["b64_json"]);
  const [, format] = BASE64_SIGNATURES.find(([beginning]) => base64.startsWith(beginning)) ?? [];
  return writeMembers(omitMembers({ ...NOT_STATED, output_format: format }, Object.keys(image)));
}

/** The beginnings of images in base64. */
const BASE64_SIGNATURES: readonly (readonly [beginning: string, format: string])[] = [
  ["/9j/", "jpeg"],
  ["iVBORw0KGgo", "png"],
  ["UklGR", "webp"],
  ["R0lGOD", "gif"],
];
