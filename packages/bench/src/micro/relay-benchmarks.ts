import { createSseReader, relaySse } from "@calotype/core/sse";
import { createResponse, type PreparedResponse } from "../payloads.ts";
import type { MicroBenchmark } from "./time-function.ts";

/** The chunk size of sockets. */
const CHUNK_BYTES = 64 * 1024;

/** The relay of streams, and the reader of their events. */
export function createRelayBenchmarks(): MicroBenchmark[] {
  return [
    ...createFor("100 events of 500 B", createResponse("sse-small")),
    ...createFor("10 events of 1 MB", createResponse("sse-large")),
  ];
}

function createFor(title: string, { pieces }: PreparedResponse): MicroBenchmark[] {
  const chunks = pieces.flatMap(split);
  const bytes = chunks.reduce((sum, { length }) => sum + length, 0);
  let events = 0;
  const onEvent = (): void => {
    events += 1;
  };
  return [
    {
      title: `relaySse, ${title}`,
      bytes,
      async run() {
        let read = 0;
        for await (const chunk of relaySse(emit(chunks), { onEvent })) read += chunk.length;
        if (read !== bytes || events === 0) throw new Error("The relay lost bytes.");
      },
    },
    {
      title: `createSseReader, ${title}`,
      bytes,
      run() {
        const reader = createSseReader(onEvent);
        for (const chunk of chunks) reader.push(chunk);
      },
    },
  ];
}

function split(piece: Buffer): Buffer[] {
  const count = Math.ceil(piece.length / CHUNK_BYTES);
  return Array.from({ length: count }, (_, index) =>
    piece.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES),
  );
}

async function* emit(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}
