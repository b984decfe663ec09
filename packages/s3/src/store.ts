import type { ByteRange, ImageToStore, ResultStore, StoredImage } from "@calotype/core/stores";
import { raced } from "./abort.js";
import { S3Error } from "./error.js";
import { openObject } from "./open.js";
import { checkOptions, type S3Settings, type S3StoreOptions } from "./options.js";
import { S3Client } from "./request.js";
import { presign } from "./sign.js";
import { deleteObject, upload } from "./upload.js";

/** The longest time of a presigned link, in seconds: 7 days. Source: AWS Signature Version 4, `X-Amz-Expires`. */
const MAX_LINK_SECONDS = 604_800;

/** Types that no browser executes. Others, such as SVG, are downloaded when they are opened in a tab. */
const PASSIVE_TYPE = /^image\/(?:png|jpeg|webp|gif|avif|heic|heif|bmp|tiff|jxl)$/;
/** A key is a prefix and an id. The gateway's ids are 32 hexadecimal digits. */
const ID = /^[\w-]{1,128}$/;

/**
 * Keeps images on S3 or a compatible service: R2, OSS, MinIO and others. It runs wherever `fetch` and WebCrypto exist.
 *
 * - An image of up to 8 MiB is one request. A larger one is sent in parts of 8 MiB; at most two are in memory.
 * - Links are presigned, or those of `publicUrl`. A gateway can also serve the images itself.
 * - Expired images are deleted by a lifecycle rule of the bucket, which you set up once: see docs/s3.md.
 *
 * @throws S3OptionsError with every problem of the options
 * @example
 * ```ts
 * import { createS3Store } from "@calotype/s3";
 *
 * const store = createS3Store({
 *   region: "eu-central-1",
 *   bucket: "my-images",
 *   accessKeyId: process.env.S3_ACCESS_KEY_ID,
 *   secretAccessKey: process.env.S3_SECRET_ACCESS_KEY,
 * });
 * ```
 */
export function createS3Store(options: S3StoreOptions): S3Store {
  return new Store(checkOptions(options));
}

/** A store with links and with images that can be opened. It has no `sweep`: a rule of the bucket deletes the images. */
export type S3Store = ResultStore & Required<Pick<ResultStore, "link" | "open" | "remove">>;

class Store implements S3Store {
  readonly maxLinkSeconds: number | undefined;
  readonly #settings: S3Settings;
  readonly #client: S3Client;

  constructor(settings: S3Settings) {
    this.#settings = settings;
    this.#client = new S3Client(settings);
    this.maxLinkSeconds = settings.publicUrl === undefined ? MAX_LINK_SECONDS : undefined;
  }

  async put(image: ImageToStore): Promise<void> {
    const { id, contentType, expiresAt } = image;
    if (!ID.test(id)) throw new TypeError("The id of an image may have letters, digits, _ and -.");
    const { headers, publicUrl } = this.#settings;
    const seconds = Math.max(0, Math.floor((expiresAt.getTime() - Date.now()) / 1_000));
    const visibility = publicUrl === undefined ? "private" : "public";
    await upload(this.#client, this.#keyOf(id), image, {
      signed: {
        ...headers,
        "content-type": contentType,
        ...(!PASSIVE_TYPE.test(contentType) && { "content-disposition": "attachment" }),
      },
      unsigned: { "cache-control": `${visibility}, max-age=${seconds}, immutable` },
    });
  }

  async link({
    id,
    contentType,
    expiresAt,
  }: Pick<ImageToStore, "id" | "contentType" | "expiresAt">): Promise<string> {
    const key = this.#keyOf(id);
    const { publicUrl, region, requestSeconds } = this.#settings;
    const path = this.#client.urlOf(key);
    if (publicUrl !== undefined) return publicUrl + path.slice(this.#settings.bucketUrl.length);
    const date = new Date();
    const seconds = Math.ceil((expiresAt.getTime() - date.getTime()) / 1_000);
    const query: Record<string, string> = PASSIVE_TYPE.test(contentType)
      ? {}
      : { "response-content-disposition": "attachment", "response-content-type": contentType };
    const credentials = await raced(this.#client.credentials(), AbortSignal.timeout(requestSeconds * 1_000));
    const expiresIn = Math.min(MAX_LINK_SECONDS, Math.max(1, seconds));
    return presign(this.#client.urlOf(key, query), expiresIn, { credentials, region, date });
  }

  async open(id: string, range?: ByteRange): Promise<StoredImage | undefined> {
    if (!ID.test(id)) return undefined;
    try {
      return await openObject(this.#client, this.#keyOf(id), range, this.#settings.requestSeconds);
    } catch (error) {
      if (error instanceof S3Error && error.status === 404 && error.code !== "NoSuchBucket") return undefined;
      throw error;
    }
  }

  async remove(id: string): Promise<void> {
    if (!ID.test(id)) return;
    const signal = AbortSignal.timeout(this.#settings.requestSeconds * 1_000);
    await deleteObject(this.#client, this.#keyOf(id), signal);
  }

  #keyOf(id: string): string {
    return this.#settings.prefix + id;
  }
}
