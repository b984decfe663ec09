import { setImmediate as nextTurn } from "node:timers/promises";
import { rechunk } from "../http/rechunk.js";
import type { Random } from "../random.js";
import { sleep } from "../sleep.js";
import { type Amount, drawAmount } from "./amount.js";
import type { BodyFault } from "./body-fault.js";
import { ConnectionCut } from "./connection-cut.js";

/** The same answer with its bytes late, in pieces, or cut off. The request tells when the client left. */
export function carryBody(
  response: Response,
  fault: BodyFault,
  { request, random }: { request: Request; random: Random },
): Response {
  const { body, status, headers } = response;
  if (body === null) return response;
  const parts = withPauses(chunksOf(body, fault, random), fault, { request, random });
  const cutAt = fault.cutAfterBytes === undefined ? undefined : drawAmount(fault.cutAfterBytes, random);
  const carried = cutAt === undefined ? parts : cutAfter(parts, cutAt);
  return new Response(ReadableStream.from(carried), { status, headers });
}

function chunksOf(
  body: ReadableStream<Uint8Array>,
  { chunkBytes }: BodyFault,
  random: Random,
): AsyncIterable<Uint8Array> {
  return chunkBytes === undefined ? body : rechunk(body, sizesOf(chunkBytes, random));
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

async function* withPauses(
  chunks: AsyncIterable<Uint8Array>,
  { delayMs = 0, pauseMs = 0 }: BodyFault,
  { request, random }: { request: Request; random: Random },
): AsyncGenerator<Uint8Array> {
  await sleep(drawAmount(delayMs, random), request.signal);
  for await (const chunk of chunks) {
    yield chunk;
    await nextTurn(); // chunks written in one turn leave in one packet
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
