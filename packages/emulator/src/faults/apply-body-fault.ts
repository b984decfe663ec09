import { setImmediate as nextTurn } from "node:timers/promises";
import type { Random } from "../random.js";
import { sleep } from "../sleep.js";
import { ConnectionCut } from "./connection-cut.js";
import type { Amount, BodyFault } from "./fault.js";

/** The same response with its bytes late, in chunks, or cut off. It ends when the client of the request disconnects. */
export function applyBodyFault(
  response: Response,
  fault: BodyFault,
  { request, random }: { request: Request; random: Random },
): Response {
  const { body, status, headers } = response;
  if (body === null) return response;
  const chunks = fault.chunkBytes === undefined ? body : rechunk(body, sizesOf(fault.chunkBytes, random));
  const slowed = withPauses(chunks, fault, { request, random });
  const maxBytes = fault.cutAfterBytes === undefined ? undefined : drawAmount(fault.cutAfterBytes, random);
  const sent = maxBytes === undefined ? slowed : cutAfter(slowed, maxBytes);
  return new Response(ReadableStream.from(sent), { status, headers });
}

function drawAmount(amount: Amount, random: Random): number {
  if (typeof amount === "number") return amount;
  const { min, max } = amount;
  return min + Math.floor(random() * (max - min + 1));
}

function sizesOf(chunkBytes: Amount | readonly number[], random: Random): () => number {
  if (typeof chunkBytes === "number" || "min" in chunkBytes) return () => drawAmount(chunkBytes, random);
  let next = 0;
  return () => {
    const size = chunkBytes[next % chunkBytes.length] ?? 1;
    next += 1;
    return size;
  };
}

/** The same bytes in chunks of the sizes that `nextSize` returns (1 or more). The last chunk may be smaller. */
async function* rechunk(
  chunks: AsyncIterable<Uint8Array>,
  nextSize: () => number,
): AsyncGenerator<Uint8Array> {
  let size = nextSize();
  let buffered: Uint8Array = new Uint8Array();
  for await (const chunk of chunks) {
    let rest = buffered.byteLength === 0 ? chunk : Buffer.concat([buffered, chunk]);
    while (rest.byteLength >= size) {
      yield rest.subarray(0, size);
      rest = rest.subarray(size);
      size = nextSize();
    }
    buffered = rest;
  }
  if (buffered.byteLength > 0) yield buffered;
}

async function* withPauses(
  chunks: AsyncIterable<Uint8Array>,
  { delayMs = 0, pauseMs = 0 }: BodyFault,
  { request, random }: { request: Request; random: Random },
): AsyncGenerator<Uint8Array> {
  await sleep(drawAmount(delayMs, random), request.signal);
  for await (const chunk of chunks) {
    yield chunk;
    await nextTurn(); // Node sends chunks that are written in one turn in one packet.
    await sleep(drawAmount(pauseMs, random), request.signal);
  }
}

async function* cutAfter(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let left = maxBytes;
  if (left > 0) {
    for await (const chunk of chunks) {
      const sent = chunk.subarray(0, left);
      left -= sent.byteLength;
      yield sent;
      if (left === 0) break;
    }
  }
  if (left === 0) throw new ConnectionCut("terminated");
}
