import type { ClientName } from "@calotype/core";

/** The models that every client is tried with, by their place in the tables. */
export type ModelKey = (typeof MODEL_KEYS)[number];
export const MODEL_KEYS = ["Seedream 4.5", "Seedream 5.0 Pro", "Qwen-Image 2.0"] as const;

/** What an operation of a client needs to call the gateway. */
export interface Connection {
  /** The origin of the gateway, without a path. */
  readonly url: string;
  readonly apiKey: string;
  /** The model's service name. */
  readonly model: string;
  /** Further service names of the model, which begin with `gpt-image-1` and `gpt-image-2`, for clients that demand it. */
  readonly gptImage1: string;
  readonly gptImage2: string;
  /** Downloads a link of a response. All other programs on this machine are out of reach. */
  readonly fetch: typeof fetch;
}

/** A request for images, in the words of no client. */
export interface ImageCall {
  readonly prompt: string;
  /** Absent: the client's default. */
  readonly n?: number;
  /** Absent: the client's default. */
  readonly size?: string;
}

/** A request to edit images. */
export interface EditCall extends ImageCall {
  /** PNG files. */
  readonly images: readonly Uint8Array[];
}

/** The images that a client shows or returns, as bytes. */
export type Images = Promise<readonly Uint8Array[]>;

/**
 * A client program: how it sends each operation, and what it reads from the response. An operation rejects with the
 * client's own error. An operation that the program does not have is absent.
 */
export interface Client {
  readonly name: string;
  /** Its profile, and its page in docs/clients. */
  readonly profile: ClientName;
  /** The package or the source file that the operations follow. */
  readonly source: string;
  /** The path that the program calls: `/v1`, or a provider's own structure. */
  readonly path: string;
  /** The models that the path serves. Default: all. */
  readonly models?: readonly ModelKey[];
  /** The sizes that the program offers, or some of them if the user can enter any. */
  readonly sizes: readonly string[];
  readonly generate: (connection: Connection, call: ImageCall) => Images;
  readonly edit?: (connection: Connection, call: EditCall) => Images;
  readonly stream?: (connection: Connection, call: ImageCall) => Images;
  readonly streamEdit?: (connection: Connection, call: EditCall) => Images;
  /** The names of the models that the program offers to its user. */
  readonly listModels?: (connection: Connection) => Promise<readonly string[]>;
  /**
   * What does not work although the profile is set, with the reason. The key is a scenario, or a scenario and a model
   * such as `Edit, 1 image: Seedream 4.5`.
   */
  readonly exceptions?: Readonly<Record<string, string>>;
}

/** The exceptions of a program that calls Ark's path, for the sizes that Seedream 4.5 does not have. */
export const sizesArkRefuses = (...sizes: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    sizes.map((size) => [
      `Size ${size}: Seedream 4.5`,
      "The model does not have this size, and on Ark's path no size is replaced.",
    ]),
  );

/** An error as the client reports it. */
export class ClientError extends Error {
  override readonly name = "ClientError";
}

/** The bytes of `b64_json`. */
export const decodeBase64 = (base64: string): Uint8Array => Buffer.from(base64, "base64");

/** Downloads a link. Rejects if the status is not 200. */
export async function download(
  { fetch }: Pick<Connection, "fetch">,
  link: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly bytes: Uint8Array; readonly contentType: string }> {
  const response = await fetch(link, { headers });
  if (!response.ok) throw new ClientError(`The download failed with ${response.status}.`);
  const contentType = response.headers.get("content-type") ?? "";
  return { bytes: new Uint8Array(await response.arrayBuffer()), contentType };
}
