import type { Emulator } from "../emulator.js";
import type { Fault } from "../faults/fault.js";
import { arkUrl } from "./ask.js";

/** What a client got of a body before it ended. */
export interface ReadBody {
  readonly chunks: readonly string[];
  readonly text: string;
  /** When each chunk came, in milliseconds since the headers. */
  readonly times: readonly number[];
  /** What the body broke with; absent when it ended well. */
  readonly error: unknown;
}

export async function readBody(response: Response): Promise<ReadBody> {
  const startedAt = performance.now();
  const chunks: Buffer[] = [];
  const times: number[] = [];
  let error: unknown;
  try {
    for await (const chunk of response.body ?? []) {
      chunks.push(Buffer.from(chunk));
      times.push(performance.now() - startedAt);
    }
  } catch (caught) {
    error = caught;
  }
  const texts = chunks.map((chunk) => chunk.toString("latin1"));
  return { chunks: texts, text: Buffer.concat(chunks).toString("utf8"), times, error };
}

export function arkInit(fields: object = {}): RequestInit {
  return {
    method: "POST",
    headers: { authorization: "Bearer a-key", "content-type": "application/json" },
    body: JSON.stringify({ model: "doubao-seedream-4-5-251128", prompt: "a fox", ...fields }),
  };
}

/** The body of one response of Ark with one fault. */
export async function readUnder(emulator: Emulator, fault: Fault, fields: object = {}): Promise<ReadBody> {
  emulator.faults.add({ ...fault, times: 1 });
  return readBody(await emulator.fetch(arkUrl, arkInit(fields)));
}
