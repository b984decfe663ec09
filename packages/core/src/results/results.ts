import type { GatewayRequest } from "../http.js";
import { type Endpoint, findLinkBase } from "../request/route.js";
import type { Awaitable } from "../util/async.js";
import type { StoredLink } from "./image-upload.js";
import { createPrivateObjects, type PrivateObjects, untilAborted } from "./private-objects.js";
import { makeLink } from "./signed-links.js";
import type { ImageToStore, ResultStore, StoreImage } from "./store.js";

/** How the images of results are stored, so that their links stay valid. */
export interface ResultsOptions {
  /**
   * Stores the images: `createFileStore` of `@calotype/node`, `createS3Store` of `@calotype/s3`, your own store, or a
   * function that stores an image and returns its link.
   */
  readonly store: ResultStore | StoreImage;
  /**
   * Who serves the images: `store` for the links of the store, `gateway` for signed links to the gateway's own route
   * `/v1/images/files/…`. Default: `store` if the store makes links, otherwise `gateway`.
   */
  readonly urls?: "store" | "gateway" | undefined;
  /**
   * How long an image and its link are kept, in seconds, from 1 to 315,360,000 (ten years). Default 604,800 (7 days).
   */
  readonly ttlSeconds?: number | undefined;
  /**
   * How long a response waits until one image is stored, in seconds. After this time the image has the provider's link.
   * `afterImage` may take the same time for each image; after it, the image is not delivered. Default 60.
   */
  readonly timeoutSeconds?: number | undefined;
  /**
   * The URL of the gateway in the links that it serves: everything before `/v1/…`, such as `https://api.example.com/ai`.
   * Needed if clients reach the gateway through a proxy at another address. Default: the origin of the request (its `Host`
   * header) and the path at which the gateway is mounted.
   */
  readonly publicUrl?: string | undefined;
  /**
   * Secrets for the links that the gateway serves, each of at least 32 characters. The first one signs, all of them verify.
   * Every process needs the same ones. Default: those that the store keeps, if it keeps some.
   */
  readonly secrets?: readonly string[] | undefined;
  /**
   * Whether the images of `/api/v3` and of DashScope's own path are stored too. Default `false`: their responses are the
   * provider's own.
   */
  readonly native?: boolean | undefined;
}

/** The images of results, as the rest of the gateway uses them. */
export interface Results {
  /** How long a response waits until one image is stored, in milliseconds. */
  readonly timeoutMs: number;
  /** Whether the images of native endpoints are stored too. */
  readonly isNative: boolean;
  /** What the gateway needs to serve the images. `undefined` if the links lead elsewhere. */
  readonly served: ServedImages | undefined;
  /** Objects that only the gateway reads. `undefined` if the store cannot read what it stores. */
  readonly objects: PrivateObjects | undefined;
  /** Deletes expired images. `undefined` if the store does not do that. */
  readonly sweep: ((before: Date) => Promise<void>) | undefined;
  /**
   * Returns what {@link store} needs to make links for this request: the URL before `/v1/…`. It is empty if the gateway does
   * not serve the images.
   *
   * @throws GatewayError `invalid_request_error` if the request has no valid `Host` header
   */
  findLinkBase(request: GatewayRequest, endpoint: Endpoint): string;
  /**
   * Stores one image and returns its link. Rejects if the store fails, and at once if `signal` is aborted, even if the store
   * does not stop.
   *
   * @param base what {@link findLinkBase} returned
   */
  store(image: Omit<ImageToStore, "id" | "expiresAt">, base: string): Promise<StoredLink>;
  /**
   * Opens an image that {@link store} has stored. `undefined`: there is none. Rejects if the store fails or takes too long.
   * Absent if the store cannot read what it stores.
   */
  readonly open: PrivateObjects["open"] | undefined;
}

/** Stored images that the gateway serves itself. */
export interface ServedImages {
  readonly open: NonNullable<ResultStore["open"]>;
  /** Returns the secrets of links, at least one. Rejects if the store cannot read its own. */
  readonly readSecrets: () => Awaitable<readonly string[]>;
}

export const DEFAULT_TTL_SECONDS = 604_800;
export const MIN_SECRET_LENGTH = 32;
const DEFAULT_TIMEOUT_SECONDS = 60;

/** Whether clients get links of the store or of the gateway. */
export function chooseUrls({ store, urls }: Pick<ResultsOptions, "store" | "urls">): "store" | "gateway" {
  return urls ?? (typeof store === "function" || store.link !== undefined ? "store" : "gateway");
}

/** What {@link createResults} needs besides its options. */
interface ResultsContext {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The beginning of the gateway's paths, or `""`. */
  readonly basePath: string;
}

/** @param options validated */
export function createResults(options: ResultsOptions, { now, basePath }: ResultsContext): Results {
  const { ttlSeconds = DEFAULT_TTL_SECONDS, timeoutSeconds = DEFAULT_TIMEOUT_SECONDS, store } = options;
  const publicUrl = options.publicUrl?.replace(/\/+$/, "");
  const served = chooseUrls(options) === "gateway" ? serveStore(options) : undefined;
  const save = createSave(store, served);
  const timeoutMs = timeoutSeconds * 1000;
  const objects = typeof store === "function" ? undefined : createPrivateObjects(store, timeoutMs);
  return {
    timeoutMs,
    objects,
    open: objects && ((id) => objects.open(id)),
    isNative: options.native ?? false,
    served,
    sweep: typeof store === "function" ? undefined : store.sweep?.bind(store),
    findLinkBase: (request, endpoint) =>
      served === undefined ? "" : (publicUrl ?? findLinkBase(request, endpoint, basePath)),
    async store(image, base) {
      const id = createImageId();
      const { contentType, body, byteLength, signal } = image;
      const expiresAt = new Date(now() + ttlSeconds * 1000);
      signal.throwIfAborted();
      const saving = save({ id, contentType, body, byteLength, signal, expiresAt }, base);
      return { id, url: await untilAborted(saving, signal) };
    },
  };
}

/** Creates 32 hexadecimal digits, with 122 random bits. */
function createImageId(): string {
  return crypto.randomUUID().replaceAll("-", "");
}

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
