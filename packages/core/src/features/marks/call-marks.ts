import type { Logger } from "../../logger.js";
import type { ImageMark } from "../../types.js";
import type { CallMarks, MarkedAttempt } from "../../upstream/image-marks.js";
import { WithheldError } from "../../upstream/image-marks.js";
import { isLabelledAsEvents } from "../../upstream/read.js";
import type { Transport, TransportResponse } from "../../upstream/transport.js";
import { openFlow, StagedFlow } from "../../util/chunk-flow.js";
import { writeErrorMember } from "../results/native-responses.js";
import { Base64Stage, type FoundImage, type Substitute } from "./base64-stage.js";
import { ImageMarker, markImage } from "./image-marker.js";
import type { Mark } from "./mark.js";

/** What the marks of a call need. */
export interface CallMarksOptions extends MarkedAttempt {
  readonly mark: Mark;
  /** Whether an image without a mark is withheld. */
  readonly isRequired: boolean;
  /** Logs an image with a C2PA manifest. */
  readonly logManifest: (channel: string, isBroken: boolean) => void;
}

/** The marks of the images that one attempt made. */
export class AttemptMarks implements CallMarks {
  readonly #options: CallMarksOptions;
  readonly #results: ImageMark[] = [];
  /**
   * Written in place of the base64 of an image that is withheld, with the reason after it. Random, so that a provider cannot write
   * it. It has characters of base64 only.
   */
  readonly #token = `withheld${crypto.randomUUID().replaceAll("-", "")}`;
  /** The number of images that are empty in a provider's own JSON. They do not count as images of the response. */
  #emptied = 0;
  /** The number of images that were marked, also of those that are arriving. */
  marked = 0;

  constructor(options: CallMarksOptions) {
    this.#options = options;
  }

  list(images: number): readonly ImageMark[] {
    const count = images + this.#emptied;
    // Drafts of an image come before it.
    const results = this.#results.slice(Math.max(0, this.#results.length - count));
    const links = Array.from({ length: count - results.length }, (): ImageMark => "link");
    return [...results, ...links];
  }

  wrap(transport: Transport): Transport {
    return {
      download: (request) => transport.download(request),
      close: () => transport.close(),
      send: (request) => transport.send(request).then((response) => this.#wrapResponse(response)),
    };
  }

  async open(chunks: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
    const marker = this.#openMarker();
    const rest = chunks[Symbol.asyncIterator]();
    const first: Uint8Array[] = [];
    let hasEnded = false;
    try {
      while (marker.result === undefined) {
        const { done, value } = await rest.next();
        hasEnded = done === true;
        first.push(...(done === true ? marker.end() : marker.push(value)));
      }
      if (this.#isWithheld(marker)) {
        this.#add(marker);
        throw createWithheldError(marker.result);
      }
    } catch (error) {
      marker.cancel();
      await rest.return?.();
      throw error;
    }
    if (marker.result === "marked") this.marked++;
    return this.#passRest(first, hasEnded ? undefined : rest, marker);
  }

  markAgain(image: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const marked = markImage(image, this.#options.mark);
    if (marked.result === "marked") return marked.image;
    const at = this.#results.lastIndexOf("marked");
    if (at !== -1) this.#results[at] = marked.result;
    if (this.#options.isRequired) throw createWithheldError(marked.result);
    return image;
  }

  /** The error of an image whose base64 was replaced. `undefined`: it was not. */
  findWithheld(base64: unknown): WithheldError | undefined {
    if (typeof base64 !== "string" || !base64.startsWith(this.#token)) return undefined;
    return createWithheldError(base64.slice(this.#token.length).replaceAll("0", "_"));
  }

  async *#passRest(
    first: readonly Uint8Array[],
    rest: AsyncIterator<Uint8Array> | undefined,
    marker: ImageMarker,
  ): AsyncGenerator<Uint8Array> {
    try {
      yield* first;
      for (
        let next = await rest?.next();
        next !== undefined && next.done !== true;
        next = await rest?.next()
      ) {
        yield* marker.push(next.value);
      }
      this.#add(marker);
    } finally {
      await rest?.return?.();
    }
  }

  #wrapResponse(response: TransportResponse): TransportResponse {
    if (response.status < 200 || response.status >= 300) return response;
    const { dialect } = this.#options;
    const member = dialect.base64Path?.findLast((name) => name !== "*");
    const stage = new Base64Stage(
      {
        open: () => this.#openMarker(),
        decided: (marker, found) => this.#decide(marker, found, response),
        ended: (marker, found) => {
          if (!this.#isDraft(found)) this.#add(marker);
        },
      },
      new Set(member === undefined ? ["b64_json"] : ["b64_json", member]),
    );
    const { status, headers, body } = response;
    return {
      status,
      headers,
      body: new StagedFlow(openFlow(body), stage),
      cancel: () => response.cancel(),
    };
  }

  #openMarker(): ImageMarker {
    return new ImageMarker(this.#options.mark, this.#options.bytes);
  }

  /**
   * Returns what is written in place of an image that is withheld. Drafts and a provider's own JSON are not read before they are
   * sent, so these are empty. In JSON, the error is beside the image.
   */
  #decide(marker: ImageMarker, found: FoundImage, { headers }: TransportResponse): Substitute | undefined {
    if (marker.result === "marked") this.marked++;
    if (!this.#isWithheld(marker)) return undefined;
    if (this.#isDraft(found)) return { base64: "" };
    if (this.#options.request.operation === "native" && !isLabelledAsEvents(headers)) {
      this.#emptied++;
      return { base64: "", members: writeErrorMember(createWithheldError(marker.result)) };
    }
    return { base64: `${this.#token}${marker.result?.replaceAll("_", "0")}` };
  }

  #isWithheld({ result }: ImageMarker): boolean {
    return this.#options.isRequired && result !== "marked";
  }

  /** True for a partial image of a stream. */
  #isDraft({ type }: FoundImage): boolean {
    const { streamShape } = this.#options.dialect;
    return type !== undefined && streamShape !== undefined && !streamShape.imageEvents.includes(type);
  }

  #add(marker: ImageMarker): void {
    const { result = "broken" } = marker;
    this.#results.push(result);
    if (result === "c2pa") this.#options.logManifest(this.#options.channel, marker.hasBrokenManifest);
  }
}

/** Logs the first image with a C2PA manifest of each channel. */
export function createManifestLog(logger: Logger): CallMarksOptions["logManifest"] {
  const logged = new Set<string>();
  return (channel, isBroken) => {
    if (isBroken) {
      logger.error(
        { channel },
        "A PNG had a C2PA manifest after its pixels. The mark that was written before broke its hash.",
      );
    }
    if (isBroken || logged.has(channel)) return;
    logged.add(channel);
    logger.warn(
      { channel },
      "The images of this channel have C2PA manifests. They get no other mark, which would break the hash of the manifest.",
    );
  };
}

const REASONS: Readonly<Record<string, string>> = {
  c2pa: "it has a C2PA manifest, whose hash a mark would break",
  source_type: "its metadata name another source",
  format: "it is not PNG, JPEG or WebP",
  broken: "it is not complete or not valid",
  xmp: "its XMP cannot be read, or has no room",
  too_large: "it has too many bytes before its pixels, or is a WebP image of more than 16 MiB",
  link: "it is a link of the provider",
};

export function createWithheldError(reason: string | undefined): WithheldError {
  const why = REASONS[reason ?? ""] ?? "it could not be read";
  return new WithheldError(
    `The image was made and cannot be marked as made by AI: ${why}. So it is not delivered.`,
  );
}
