import type { StreamShape } from "../families/response-shape.js";
import { TransportError } from "../upstream/transport.js";
import { createHeldBytes } from "../util/held-bytes.js";
import { isJsonObject } from "../util/json.js";
import { replaceJsonStrings } from "../util/replace-json-strings.js";
import { encodeText } from "../util/utf8.js";
import { EventLines } from "./event-lines.js";
import type { ImageDelivery } from "./image-delivery.js";
import { type ImagePart, JsonLayout } from "./image-parts.js";
import { listChanges } from "./pieces.js";
import { HEARTBEAT, type StreamTranslation } from "./sse.js";
import { EventObject } from "./stream-images.js";

/** What the stream of a native endpoint needs to store its images. */
export interface NativeStreamOptions {
  readonly shape: StreamShape;
  readonly delivery: ImageDelivery;
  /** Renders the event for a stream that broke off between two events. */
  readonly renderFailure: (error: unknown) => string;
}

/** An event of up to this size is held until its end, so that its link can be replaced. */
const MAX_HELD_BYTES = 16 * 1024;
/** With `afterImage`, a larger event breaks the stream. It has room for an image of 64 MiB in base64. */
const MAX_EVENT_BYTES = 96 * 1024 * 1024;
const decoder = new TextDecoder();

/**
 * Stores the images of a provider's stream while it is relayed. An event keeps everything but its link. Long base64 goes to
 * the client and into the store at the same time. With the operator's `afterImage`, an event is held until that function has
 * seen its image; the event of a refused image is left out. Line ends become LF.
 */
export class NativeStream implements StreamTranslation {
  readonly #options: NativeStreamOptions;
  readonly #lines: EventLines;
  /** The event so far, unless it is sent while it arrives. */
  readonly #held = createHeldBytes();
  #isForwarding = false;
  #current: EventObject | undefined;
  #images = 0;
  #steps: Step[] = [];

  constructor(options: NativeStreamOptions) {
    this.#options = options;
    this.#lines = new EventLines({
      onBytes: (bytes) => this.#addBytes(bytes),
      onData: (bytes) => {
        this.#current ??= new EventObject(options.shape, (part) => void this.#steps.push({ part }));
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
    const isUnseen = this.#current !== undefined && this.#options.delivery.holdsImages;
    return this.#held.length === 0 || isUnseen ? [] : [this.#held.take()];
  }

  fail(error: unknown): Uint8Array | undefined {
    // A part of an event that was held is dropped.
    return this.#isForwarding ? undefined : encodeText(this.#options.renderFailure(error));
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
    if (this.#options.delivery.holdsImages) {
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
    const { delivery } = this.#options;
    if ("error" in step) delivery.cancelImage(step.error);
    if (!("part" in step)) return "bytes" in step ? step.bytes : undefined;
    if ("event" in step) return this.#deliverEvent(decoder.decode(step.event), step.part);
    // The bytes were sent. In an event that is held, the image is delivered at its end.
    if (!delivery.holdsImages) await delivery.write(step.part, new JsonLayout());
    return undefined;
  }

  /** A whole event with the delivered image. `undefined` if the operator refused it. */
  async #deliverEvent(text: string, part: ImagePart): Promise<Uint8Array | undefined> {
    const image = part.kind === "image" ? part.image : readData(text);
    if (part.kind === "begin" || part.kind === "base64") return encodeText(text);
    const delivered = await this.#options.delivery.whole.deliver(image, part.index);
    if (delivered === undefined) return undefined;
    const changes = new Map(listChanges(image, delivered));
    const lines = text.split("\n");
    return encodeText(
      lines.map((line) => (isData(line) ? replaceJsonStrings(line, changes) : line)).join("\n"),
    );
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

/** The data of an event that was held. */
function readData(text: string): { readonly url?: string; readonly b64_json?: string } {
  const lines = text.split("\n").filter(isData);
  const value: unknown = JSON.parse(lines.map((line) => line.slice("data:".length)).join("\n"));
  return isJsonObject(value) ? value : {};
}
