import { GatewayError } from "../errors.js";
import type { GatewayResponse } from "../http.js";
import type { PrivateObjects } from "../results/private-objects.js";
import { StoredBody } from "../results/stored-body.js";
import { createHeldBytes } from "../util/held-bytes.js";
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
  const body = new WholeBody(response.body);
  try {
    const start = await body.readUpTo(MAX_INLINE_BYTES);
    checkType(response);
    if (body.isOver) return new TextDecoder().decode(start);
    if (objects === undefined) throw resultLost(`it has more than ${MAX_INLINE_BYTES} bytes`);
    return STORED + (await storeResult(body.readAfter(start), objects, until));
  } finally {
    await body.discardRest();
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

/** A body that is read to its end whatever happens to what was read. */
class WholeBody {
  isOver = false;
  readonly #chunks: AsyncIterator<Uint8Array>;

  constructor(body: GatewayResponse["body"]) {
    this.#chunks = toChunks(body);
  }

  /** Returns all bytes, or a little more than `maxBytes` of them. */
  async readUpTo(maxBytes: number): Promise<Uint8Array> {
    const held = createHeldBytes();
    while (held.length <= maxBytes) {
      const chunk = await this.#next();
      if (chunk === undefined) break;
      held.add(chunk);
    }
    return held.take();
  }

  /** Reads the rest. Ending it early does not end the body. */
  async *readAfter(start: Uint8Array): AsyncGenerator<Uint8Array, void> {
    yield start;
    for (;;) {
      const chunk = await this.#next();
      if (chunk === undefined) return;
      yield chunk;
    }
  }

  async discardRest(): Promise<void> {
    while ((await this.#next()) !== undefined) continue;
  }

  async #next(): Promise<Uint8Array | undefined> {
    if (this.isOver) return undefined;
    try {
      const { done, value } = await this.#chunks.next();
      if (done !== true) return value;
      this.isOver = true;
      return undefined;
    } catch (error) {
      this.isOver = true;
      throw error;
    }
  }
}

async function* toChunks(body: GatewayResponse["body"]): AsyncGenerator<Uint8Array, void> {
  if (typeof body === "string") yield new TextEncoder().encode(body);
  else if (body instanceof Uint8Array) yield body;
  else yield* body;
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
