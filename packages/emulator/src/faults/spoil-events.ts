import { ConnectionCut } from "./connection-cut.js";
import type { StreamFault } from "./stream-fault.js";
import { withKeepAlive } from "./with-keep-alive.js";

const comment = ": keep-alive\n\n";
const lineEnds = { crlf: "\r\n", cr: "\r" } as const;

/** The events (one text each, blank line included) as bytes, with the fault's flaws. */
export async function* spoilEvents(
  events: AsyncIterable<string>,
  fault: StreamFault = {},
): AsyncGenerator<Uint8Array> {
  const encode = encoderFor(fault);
  const { cutAfterEvents = Number.POSITIVE_INFINITY } = fault;
  let left = cutAfterEvents;
  if (left === 0) throw new ConnectionCut("terminated");
  for await (const event of withKeepAlive(events, fault.keepAliveMs)) {
    if (event === undefined || fault.comments === true) yield encode(comment);
    if (event === undefined) continue;
    yield left >= 1 ? encode(event) : firstPart(encode(event), left);
    left -= 1;
    if (left <= 0) throw new ConnectionCut("terminated");
  }
}

function encoderFor({ lineEnd }: StreamFault): (text: string) => Uint8Array {
  const encoder = new TextEncoder();
  if (lineEnd === undefined) return (text) => encoder.encode(text);
  return (text) => encoder.encode(text.replaceAll("\n", lineEnds[lineEnd]));
}

function firstPart(bytes: Uint8Array, share: number): Uint8Array {
  return bytes.subarray(0, Math.max(1, Math.floor(bytes.byteLength * share)));
}
