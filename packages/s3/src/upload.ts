import type { ImageToStore } from "@calotype/core/stores";
import { follow } from "./abort.js";
import { RequestBody } from "./body.js";
import { S3Error } from "./error.js";
import { PartReader } from "./parts.js";
import { drain, readDocument, type S3Client } from "./request.js";
import { childValue, escapeXml, type XmlElement } from "./xml.js";

/** The headers of an object. */
export interface ObjectHeaders {
  readonly signed: Readonly<Record<string, string>>;
  readonly unsigned: Readonly<Record<string, string>>;
}

/** The longest time to delete what a failed upload left. */
const CLEAN_UP_SECONDS = 10;

/**
 * Stores an image under a key. An image of up to 8 MiB is one request, a larger one a multipart upload, in which one part
 * is sent while the next one is read. If it rejects, it has deleted what it stored, as far as the service let it.
 */
export async function upload(
  client: S3Client,
  key: string,
  image: ImageToStore,
  headers: ObjectHeaders,
): Promise<void> {
  const controller = new AbortController();
  const unfollow = follow(image.signal, controller);
  const reader = new PartReader(image.body, image.byteLength);
  try {
    const first = await reader.read(controller.signal);
    if (reader.hasMore) await new MultipartUpload(client, key, reader, controller).send(first, headers);
    else await putObject(client, key, first, headers, controller.signal);
  } finally {
    reader.close();
    unfollow();
  }
}

async function putObject(
  client: S3Client,
  key: string,
  bytes: Uint8Array<ArrayBuffer>,
  headers: ObjectHeaders,
  signal: AbortSignal,
): Promise<void> {
  let isUncertain = false;
  const request = { operation: "PutObject", method: "PUT", key, signal } as const;
  const onUncertain = (): void => {
    isUncertain = true;
  };
  const { signed, unsigned } = headers;
  const body = await RequestBody.of(bytes);
  try {
    await client.send({ ...request, body, headers: signed, unsignedHeaders: unsigned, onUncertain }, drain);
  } catch (error) {
    if (isUncertain) await cleanUp(error, (until) => deleteObject(client, key, until));
    throw error;
  }
}

class MultipartUpload {
  readonly #client: S3Client;
  readonly #key: string;
  readonly #reader: PartReader;
  readonly #controller: AbortController;
  readonly #etags: string[] = [];
  #uploadId: string | undefined;
  /** True if there may be an upload whose id did not arrive. */
  #hasUnknownUpload = false;
  /** True if the object may exist. */
  #mayBeComplete = false;

  constructor(client: S3Client, key: string, reader: PartReader, controller: AbortController) {
    this.#client = client;
    this.#key = key;
    this.#reader = reader;
    this.#controller = controller;
  }

  async send(first: Uint8Array<ArrayBuffer>, headers: ObjectHeaders): Promise<void> {
    try {
      const uploadId = await this.#create(headers);
      this.#uploadId = uploadId;
      await this.#sendParts(uploadId, first);
      await this.#complete(uploadId);
    } catch (error) {
      await cleanUp(error, (signal) => this.#abort(signal));
      throw error;
    }
    if (this.#hasUnknownUpload) await this.#abortOthers();
  }

  async #create({ signed, unsigned }: ObjectHeaders): Promise<string> {
    const operation = "CreateMultipartUpload";
    const request = { operation, method: "POST", key: this.#key, query: { uploads: "" } } as const;
    const onUncertain = (): void => {
      this.#hasUnknownUpload = true;
    };
    const { signal } = this.#controller;
    return this.#client.send(
      { ...request, headers: signed, unsignedHeaders: unsigned, signal, onUncertain },
      async (response) => {
        const document = await readDocument(response);
        const id =
          document?.name === "InitiateMultipartUploadResult" ? childValue(document, "UploadId") : undefined;
        if (id !== undefined && id !== "") return id;
        throw new S3Error("the response has no upload id.", { operation, status: response.status });
      },
    );
  }

  /** Sends one part while it reads the next one. The part that is sent and the one that is read are all that it holds. */
  async #sendParts(uploadId: string, first: Uint8Array<ArrayBuffer>): Promise<void> {
    const { signal } = this.#controller;
    let sending: Promise<void> = Promise.resolve();
    let part = first;
    try {
      for (let number = 1; ; number++) {
        // The memory of the part before is used again for the next one.
        await sending;
        const body = await RequestBody.of(part);
        sending = this.#sendPart(uploadId, number, body);
        sending.catch((error: unknown) => this.#controller.abort(error));
        if (!this.#reader.hasMore) break;
        part = await this.#reader.read(signal);
      }
      await sending;
    } catch (error) {
      this.#controller.abort(error);
      await sending.catch(() => undefined); // `error` is the first one, and no part may follow the clean-up
      throw error;
    }
  }

  async #sendPart(uploadId: string, partNumber: number, body: RequestBody): Promise<void> {
    const operation = "UploadPart";
    const query = { partNumber: String(partNumber), uploadId };
    const { signal } = this.#controller;
    const etag = await this.#client.send(
      { operation, method: "PUT", key: this.#key, query, body, signal },
      async (response) => {
        await drain(response);
        const { status, headers } = response;
        const value = headers.get("etag");
        if (value === null) throw new S3Error("the response has no ETag.", { operation, status });
        return value;
      },
    );
    this.#etags.push(etag);
  }

  async #complete(uploadId: string): Promise<void> {
    const operation = "CompleteMultipartUpload";
    const parts = this.#etags.map(
      (etag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`,
    );
    const xml = `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join("")}</CompleteMultipartUpload>`;
    const body = await RequestBody.of(new TextEncoder().encode(xml));
    const request = { operation, method: "POST", key: this.#key, query: { uploadId } } as const;
    const headers = { "content-type": "application/xml" };
    const { signal } = this.#controller;
    const onUncertain = (): void => {
      this.#mayBeComplete = true;
    };
    try {
      await this.#client.send({ ...request, body, headers, signal, onUncertain }, async (response) => {
        assertCompleted(operation, response, await readDocument(response));
      });
    } catch (error) {
      // The response of an earlier attempt was lost, and that attempt has completed the upload.
      if (!isMissingUpload(error) || !this.#mayBeComplete || !(await this.#isStored(signal))) throw error;
    }
  }

  /** True if the service has an object of the right length. False also if it does not say so. */
  async #isStored(signal: AbortSignal): Promise<boolean> {
    const request = { operation: "HeadObject", method: "HEAD", key: this.#key, signal } as const;
    try {
      const length = await this.#client.send(request, ({ headers }) => headers.get("content-length"));
      return length === String(this.#reader.bytesRead);
    } catch (error) {
      if (error instanceof S3Error) return false;
      throw error;
    }
  }

  /** Takes every step, even if one fails. The order matters: an upload that is aborted can no longer be completed. */
  async #abort(signal: AbortSignal): Promise<void> {
    const uploadId = this.#uploadId;
    const errors: unknown[] = [];
    const note = (error: unknown): void => void errors.push(error);
    if (uploadId !== undefined) await this.#abortUpload(uploadId, signal).catch(note);
    if (this.#mayBeComplete) await deleteObject(this.#client, this.#key, signal).catch(note);
    if (this.#hasUnknownUpload) await this.#abortUnknown(signal).catch(note);
    if (errors.length > 0) throw errors[0];
  }

  async #abortUpload(uploadId: string, signal: AbortSignal): Promise<void> {
    const request = { operation: "AbortMultipartUpload", method: "DELETE", key: this.#key, signal } as const;
    try {
      await this.#client.send({ ...request, query: { uploadId } }, drain);
    } catch (error) {
      if (!isMissingUpload(error)) throw error;
    }
  }

  /** The image is stored. An upload without parts costs nothing until the bucket's rule deletes it. */
  async #abortOthers(): Promise<void> {
    try {
      await this.#abortUnknown(AbortSignal.timeout(CLEAN_UP_SECONDS * 1_000));
    } catch (error) {
      if (!(error instanceof S3Error) && !isTimeout(error)) throw error;
    }
  }

  /** Aborts the uploads of this key whose id did not arrive. Keys are unique, so all of them are of this image. */
  async #abortUnknown(signal: AbortSignal): Promise<void> {
    const request = { operation: "ListMultipartUploads", method: "GET", signal } as const;
    const query = { uploads: "", prefix: this.#key };
    const document = await this.#client.send({ ...request, query }, readDocument);
    for (const element of document?.children.filter(({ name }) => name === "Upload") ?? []) {
      const uploadId = childValue(element, "UploadId");
      if (childValue(element, "Key") === this.#key && uploadId !== undefined) {
        await this.#abortUpload(uploadId, signal);
      }
    }
  }
}

/** S3 sends the status 200 before it has completed the upload. The body then says whether it succeeded. */
function assertCompleted(operation: string, { status }: Response, document: XmlElement | undefined): void {
  if (document?.name === "CompleteMultipartUploadResult") return;
  const code = document?.name === "Error" ? childValue(document, "Code") : undefined;
  const message = document?.name === "Error" ? childValue(document, "Message") : undefined;
  // Without a readable document the connection was probably lost: as if there were no response.
  if (code === undefined) throw new S3Error("the response is not complete.", { operation });
  throw new S3Error(`${status} ${code} ${message ?? ""}`.trim(), { operation, status, code });
}

function isMissingUpload(error: unknown): boolean {
  return error instanceof S3Error && error.status === 404 && error.code !== "NoSuchBucket";
}

/** Deletes an object. An object that does not exist is no error. */
export async function deleteObject(client: S3Client, key: string, signal: AbortSignal): Promise<void> {
  await client.send({ operation: "DeleteObject", method: "DELETE", key, signal }, drain);
}

/**
 * Deletes what a failed upload left.
 *
 * @param error why the upload failed
 * @throws S3Error if something may remain
 */
async function cleanUp(error: unknown, run: (signal: AbortSignal) => Promise<void>): Promise<void> {
  try {
    await run(AbortSignal.timeout(CLEAN_UP_SECONDS * 1_000));
  } catch (second) {
    const [first, reason] = [error, second].map((one) => (one instanceof Error ? one.message : String(one)));
    const fields = error instanceof S3Error ? error : { operation: "PutObject" };
    const message = `${first} A part of the image may remain, because it could not be deleted: ${reason}`;
    throw new S3Error(message, { ...pick(fields), cause: error });
  }
}

function pick({ operation, status, code, requestId }: Partial<S3Error> & { operation: string }) {
  return { operation, status, code, requestId };
}

const isTimeout = (error: unknown): boolean => error instanceof Error && error.name === "TimeoutError";
