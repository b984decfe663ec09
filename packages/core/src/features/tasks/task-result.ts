import { GatewayError } from "../../errors.js";
import type { GatewayResponse } from "../../http.js";
import { decodeText, readHead } from "../../upstream/read.js";
import { ChunkReader, openFlow } from "../../util/chunk-flow.js";
import type { PrivateObjects } from "../results/private-objects.js";
import { StoredBody } from "../results/stored-body.js";
import { MAX_INLINE_BYTES } from "./task-body.js";

/** Before the id of a result in the store of results. JSON never begins with it. */
const STORED = "@";

/** What {@link keepResult} needs besides the response. */
export interface KeepResultOptions {
  /** Absent: results that are too long for the task store are lost. */
  readonly objects: PrivateObjects | undefined;
  /** How long a result is kept, in milliseconds since 1970. */
  readonly until: number;
}

/**
 * Reads a whole JSON response, and returns what the task store keeps as the result: the JSON itself, or where it is in the
 * store of results. The body is always read to its end, because the call is settled there.
 *
 * @throws GatewayError if the response is not JSON or cannot be kept; what the body threw
 */
export async function keepResult(
  response: GatewayResponse,
  { objects, until }: KeepResultOptions,
): Promise<string> {
  const body = new ChunkReader(openFlow(response.body));
  try {
    const { chunks, hasEnded } = await readHead({ body }, MAX_INLINE_BYTES);
    checkType(response);
    if (hasEnded) return decodeText(chunks);
    if (objects === undefined) throw resultLost(`it has more than ${MAX_INLINE_BYTES} bytes`);
    return STORED + (await storeResult(readAfter(chunks, body), objects, until));
  } finally {
    while ((await body.next()).done !== true) continue;
  }
}

/** @throws GatewayError `task_result_lost` */
async function storeResult(
  chunks: AsyncIterable<Uint8Array>,
  objects: PrivateObjects,
  until: number,
): Promise<string> {
  try {
    return await objects.put(chunks, { expiresAt: new Date(until) });
  } catch (cause) {
    throw resultLost("the store of results failed", cause);
  }
}

function resultLost(reason: string, cause?: unknown): GatewayError {
  const message = `The images were made, but their response could not be kept: ${reason}.`;
  return new GatewayError("task_result_lost", message, { cause });
}

/** @throws GatewayError `upstream_invalid_response` for a stream of events that was not requested */
function checkType({ headers }: GatewayResponse): void {
  if (headers["content-type"]?.startsWith("application/json") === true) return;
  throw new GatewayError(
    "upstream_invalid_response",
    "The provider responded with something else than JSON.",
  );
}

/** The whole body. A reader that stops early does not end it. */
async function* readAfter(
  start: readonly Uint8Array[],
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  yield* start;
  for (let read = await rest.next(); read.done !== true; read = await rest.next()) yield read.value;
}

/**
 * Opens a result that {@link keepResult} kept.
 *
 * @returns the JSON, or its bytes; `undefined` if it has expired in the store of results
 */
export async function openResult(
  result: string,
  objects: PrivateObjects | undefined,
): Promise<string | StoredBody | undefined> {
  if (!result.startsWith(STORED)) return result;
  const stored = await objects?.open(result.slice(STORED.length));
  return stored && StoredBody.open(stored.body, stored.byteLength, () => undefined);
}
