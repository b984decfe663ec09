import { GatewayError, unavailable } from "../../errors.js";
import { toJsonBody } from "../../images/json-body.js";
import type { Logger } from "../../logger.js";
import type { JsonObject } from "../../util/json.js";
import { encodeText } from "../../util/utf8.js";
import type { PrivateObjects } from "../results/private-objects.js";
import { StoredBody } from "../results/stored-body.js";
import { readTaskInput, type TaskBody } from "./task-input.js";

/** A longer body, or a longer result, is kept in the store of results. In bytes. */
export const MAX_INLINE_BYTES = 256 * 1024;

/** The store fails for this long after its task must have ended, so that a slow worker still finds the body. */
const SLACK_MS = 86_400_000;

/** What {@link keepBody} needs besides the fields. */
export interface KeepBodyOptions {
  /** Absent: bodies that are too long for the task store are refused. */
  readonly objects: PrivateObjects | undefined;
  /** When the task must have begun, in milliseconds since 1970. */
  readonly neededUntil: number;
}

/**
 * Keeps the fields of a request until its task runs. Files are written as data URLs.
 *
 * @throws GatewayError `request_too_large`; `gateway_unavailable` if the store of results fails
 */
export async function keepBody(
  fields: JsonObject,
  { objects, neededUntil }: KeepBodyOptions,
): Promise<TaskBody> {
  const produced = toJsonBody(fields);
  const chunks = typeof produced === "string" ? [encodeText(produced)] : produced;
  const byteLength = "byteLength" in chunks ? chunks.byteLength : (chunks[0]?.length ?? 0);
  if (byteLength <= MAX_INLINE_BYTES) {
    return { kind: "inline", json: typeof produced === "string" ? produced : await decodeAll(produced) };
  }
  if (objects === undefined) {
    throw new GatewayError(
      "request_too_large",
      `With Prefer: respond-async a body may have ${MAX_INLINE_BYTES} bytes here, images included. Refer to images ` +
        "by URLs, or leave the header out.",
    );
  }
  try {
    const expiresAt = new Date(neededUntil + SLACK_MS);
    return { kind: "stored", id: await objects.put(readEach(chunks), { byteLength, expiresAt }), byteLength };
  } catch (cause) {
    throw unavailable("This server cannot keep the request at the moment: try again.", cause);
  }
}

/**
 * Opens a kept body.
 *
 * @throws GatewayError `gateway_unavailable` if the store of results fails, `task_input_lost` if it does not have the body
 */
export async function openBody(
  body: TaskBody,
  objects: PrivateObjects | undefined,
): Promise<AsyncIterable<Uint8Array>> {
  if (body.kind === "inline") return readEach([encodeText(body.json)]);
  try {
    const stored = await objects?.open(body.id);
    if (stored !== undefined) {
      return readStored(await StoredBody.open(stored.body, body.byteLength, () => undefined));
    }
  } catch (cause) {
    throw unreadError(cause);
  }
  throw new GatewayError("task_input_lost", "The request of the task is no longer in the store of results.");
}

/** A store that fails in the middle is not a client that breaks off. */
async function* readStored(body: StoredBody): AsyncGenerator<Uint8Array, void> {
  try {
    yield* body;
  } catch (cause) {
    throw unreadError(cause);
  }
}

function unreadError(cause: unknown): GatewayError {
  return new GatewayError("gateway_unavailable", "The request of the task cannot be read at the moment.", {
    cause,
  });
}

/** What {@link removeBodies} needs besides the inputs of the tasks. */
interface RemoveBodiesOptions {
  readonly objects: PrivateObjects | undefined;
  readonly logger: Logger;
}

/** Deletes the bodies of tasks that have ended from the store of results. A body that stays expires. Does not reject. */
export async function removeBodies(
  inputs: readonly string[],
  { objects, logger }: RemoveBodiesOptions,
): Promise<void> {
  for (const input of inputs) {
    try {
      const { body } = readTaskInput(input);
      if (body.kind === "stored") await objects?.remove(body.id);
    } catch (err) {
      logger.warn(
        { err },
        "The request of a task could not be deleted from the store of results; it expires.",
      );
    }
  }
}

async function decodeAll(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let decoded = "";
  for await (const chunk of chunks) decoded += decoder.decode(chunk, { stream: true });
  return decoded + decoder.decode();
}

async function* readEach(
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  yield* chunks;
}
