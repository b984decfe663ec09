import type { ResultStore, StoreImage } from "./store.js";

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

export const DEFAULT_TTL_SECONDS = 604_800;
export const MIN_SECRET_LENGTH = 32;

/** Whether clients get links of the store or of the gateway. */
export function chooseUrls({ store, urls }: Pick<ResultsOptions, "store" | "urls">): "store" | "gateway" {
  return urls ?? (typeof store === "function" || store.link !== undefined ? "store" : "gateway");
}
