import { findLinkBase } from "../../request/route.js";
import type { ImageStage } from "../../responses/image-stage.js";
import type { Awaitable } from "../../util/async.js";
import type { AfterImage } from "./after-image.js";
import type { StoredLink } from "./image-upload.js";
import { createPrivateObjects, type PrivateObjects, untilAborted } from "./private-objects.js";
import {
  chooseUrls,
  DEFAULT_TTL_SECONDS,
  MIN_SECRET_LENGTH,
  type ResultsOptions,
} from "./results-options.js";
import { makeLink } from "./signed-links.js";
import type { ImageToStore, ResultStore } from "./store.js";
import { StoredDelivery } from "./stored-delivery.js";

/** The images of results, as the rest of the gateway uses them. */
export interface Results extends ImageStage {
  /** What the gateway needs to serve the images. `undefined` if the links lead elsewhere. */
  readonly served: ServedImages | undefined;
  /** Deletes expired images. `undefined` if the store does not do that. */
  readonly sweep: ((before: Date) => Promise<void>) | undefined;
  /**
   * Stores one image and returns its link. Rejects if the store fails, and at once if `signal` is aborted, even if the store
   * does not stop.
   *
   * @param base what `findLinkBase` returned
   */
  store(image: Omit<ImageToStore, "id" | "expiresAt">, base: string): Promise<StoredLink>;
}

/** Stored images that the gateway serves itself. */
export interface ServedImages {
  readonly open: NonNullable<ResultStore["open"]>;
  /** Returns the secrets of links, at least one. Rejects if the store cannot read its own. */
  readonly readSecrets: () => Awaitable<readonly string[]>;
}

const DEFAULT_TIMEOUT_SECONDS = 60;

/** What {@link createResults} needs besides its options. */
interface StageContext {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The beginning of the gateway's paths, or `""`. */
  readonly basePath: string;
  /** The operator's function for each image. */
  readonly afterImage?: AfterImage | undefined;
}

/** @param options validated */
export function createResults(options: ResultsOptions, { now, basePath, afterImage }: StageContext): Results {
  const { ttlSeconds = DEFAULT_TTL_SECONDS, store } = options;
  const publicUrl = options.publicUrl?.replace(/\/+$/, "");
  const served = chooseUrls(options) === "gateway" ? serveStore(options) : undefined;
  const save = createSave(store, served);
  const timeoutMs = readTimeoutMs(options);
  const objects = openPrivateObjects(options);
  const handles: Results["handles"] = (operation) => operation !== "native" || options.native === true;
  const open = objects && ((id: string) => objects.open(id));
  const storeImage: Results["store"] = async (image, base) => {
    const id = crypto.randomUUID().replaceAll("-", "");
    const { contentType, body, byteLength, signal } = image;
    const expiresAt = new Date(now() + ttlSeconds * 1000);
    signal.throwIfAborted();
    const saving = save({ id, contentType, body, byteLength, signal, expiresAt }, base);
    return { id, url: await untilAborted(saving, signal) };
  };
  return {
    served,
    sweep: typeof store === "function" ? undefined : store.sweep?.bind(store),
    store: storeImage,
    handles,
    findLinkBase: (request, endpoint) =>
      served === undefined ? "" : (publicUrl ?? findLinkBase(request, endpoint, basePath)),
    // The delivery of a stream must not refer to the call, which has the body of the request.
    createDelivery(delivery, { id, billed, linkBase, request, firstImageIndex = 0 }) {
      const { operation, model, prompt } = request;
      if (!handles(operation)) return undefined;
      const call = { id, caller: billed.caller, model, operation, prompt };
      return new StoredDelivery({
        ...delivery,
        store: {
          put: (image) => storeImage(image, linkBase),
          open,
          onStored: (imageId) => (billed.stored ??= []).push(imageId),
          timeoutMs,
        },
        afterImage:
          afterImage && ((image, index) => afterImage(image, { ...call, index: firstImageIndex + index })),
      });
    },
  };
}

/** Opens the objects in the store of results that only the gateway reads. `undefined` if it cannot read what it stores. */
export function openPrivateObjects(options: ResultsOptions | undefined): PrivateObjects | undefined {
  if (options === undefined || typeof options.store === "function") return undefined;
  return createPrivateObjects(options.store, readTimeoutMs(options));
}

const readTimeoutMs = ({ timeoutSeconds = DEFAULT_TIMEOUT_SECONDS }: ResultsOptions): number =>
  timeoutSeconds * 1000;

/** Stores an image and returns its link. */
type Save = (image: ImageToStore, base: string) => Promise<string>;

function createSave(store: ResultsOptions["store"], served: ServedImages | undefined): Save {
  if (typeof store === "function") return async (image) => checkUrl(await store(image));
  if (served === undefined) {
    return async (image) => {
      await store.put(image);
      return checkUrl(await store.link?.(image));
    };
  }
  return async (image, base) => {
    const [secret = ""] = await served.readSecrets();
    await store.put(image);
    return makeLink(base, image, secret);
  };
}

/** @throws TypeError for a link that no client could use */
function checkUrl(url: unknown): string {
  if (typeof url === "string" && URL.canParse(url)) return url;
  throw new TypeError("The store of results returned no link: it must be an absolute URL.");
}

/** The options and the store were checked: there is `open`, and there are secrets. */
function serveStore({ store, secrets }: ResultsOptions): ServedImages | undefined {
  if (typeof store === "function" || store.open === undefined) return undefined;
  return { open: store.open.bind(store), readSecrets: secrets ? () => secrets : keepSecrets(store) };
}

/** Reads the secrets of a store at their first use. A failure is not kept. */
function keepSecrets(store: ResultStore): () => Awaitable<readonly string[]> {
  let kept: Awaitable<readonly string[]> | undefined;
  const read = async (): Promise<readonly string[]> => {
    try {
      kept = checkSecrets((await store.readSecrets?.()) ?? []);
      return kept;
    } catch (error) {
      kept = undefined;
      throw error;
    }
  };
  return () => (kept ??= read());
}

/** @throws TypeError for secrets that could be guessed */
function checkSecrets(secrets: readonly string[]): readonly string[] {
  if (secrets.length > 0 && secrets.every((secret) => secret.length >= MIN_SECRET_LENGTH)) return secrets;
  throw new TypeError(
    `The store of results has no valid secrets: each must have at least ${MIN_SECRET_LENGTH} characters.`,
  );
}
