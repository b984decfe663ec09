import { Buffer } from "node:buffer";
import type { Pool } from "undici";
import type { ClientRequest } from "../client-request.ts";
import type { Expectation } from "../payloads.ts";

/** One request and its response. */
export interface Exchange {
  readonly totalMs: number;
  readonly firstByteMs: number;
  /** The problem of the response, if it had one. */
  readonly problem: string | undefined;
  /** Empty unless the body is kept. */
  readonly body: Buffer;
}

/** An exchange in progress. Neither promise rejects. */
export interface Opened {
  /** Resolves when the first byte of the body has arrived, or when none will arrive. */
  readonly begun: Promise<void>;
  readonly ended: Promise<Exchange>;
}

interface ExchangeOptions extends Expectation {
  readonly keepBody: boolean;
}

const EDGE_BYTES = 512;

/** Sends a request and reads its response without keeping it in memory. */
export function exchange(
  pool: Pool,
  { path, headers, body }: ClientRequest,
  options: ExchangeOptions,
): Opened {
  const began = performance.now();
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<Exchange>();
  const chunks: Buffer[] = [];
  let [status, bytes, firstByteMs] = [0, 0, 0];
  let [head, tail] = [Buffer.alloc(0), Buffer.alloc(0)];

  const end = (failure?: string): void => {
    const edges = `${head.toString("latin1")} ${tail.toString("latin1")}`;
    const problem = failure ?? findProblem({ status, bytes, edges }, options);
    begun.resolve();
    ended.resolve({ totalMs: performance.now() - began, firstByteMs, problem, body: Buffer.concat(chunks) });
  };

  pool.dispatch(
    { method: "POST", path, headers: { ...headers }, body },
    {
      onRequestStart() {},
      onResponseStart(_controller, statusCode) {
        status = statusCode;
      },
      onResponseData(_controller, chunk) {
        if (bytes === 0) {
          firstByteMs = performance.now() - began;
          head = Buffer.from(chunk.subarray(0, EDGE_BYTES));
          begun.resolve();
        }
        bytes += chunk.length;
        tail = lastOf(tail, chunk);
        if (options.keepBody) chunks.push(Buffer.from(chunk));
      },
      onResponseEnd() {
        end();
      },
      onResponseError(_controller, error) {
        end(String(error));
      },
    },
  );
  return { begun: begun.promise, ended: ended.promise };
}

/** A copy of the last bytes, because chunks are parts of shared memory. */
function lastOf(before: Buffer<ArrayBuffer>, chunk: Buffer): Buffer<ArrayBuffer> {
  if (chunk.length >= EDGE_BYTES) return Buffer.from(chunk.subarray(-EDGE_BYTES));
  return Buffer.concat([before, chunk]).subarray(-EDGE_BYTES);
}

function findProblem(
  { status, bytes, edges }: { status: number; bytes: number; edges: string },
  { minBytes, mark }: Expectation,
): string | undefined {
  if (status !== 200) return `Status ${status}: ${edges.slice(0, EDGE_BYTES)}`;
  if (bytes < minBytes) return `${bytes} bytes came, fewer than ${minBytes}.`;
  if (!edges.includes(mark)) return `Neither end of the response contains ${mark}: ${edges}`;
  return undefined;
}
