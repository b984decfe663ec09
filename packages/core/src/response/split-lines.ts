const LF = 0x0a;
const CR = 0x0d;
/** Of a longer line the first and the last so many bytes are kept, and what lies between is dropped. */
const KEPT_BYTES = 8 * 1024;
const NOTHING = new Uint8Array();

/** Cuts chunks into lines, wherever the chunks are cut themselves. */
export interface LineSplitter {
  push(chunk: Uint8Array): void;
  /** True when no part of a line is waiting for its end. */
  readonly atLineStart: boolean;
}

/**
 * Lines that end in LF, CRLF or CR, each handed over as soon as its end is in. A line of many
 * megabytes (a picture in base64) is never held: its middle is left out, which keeps a JSON text
 * whole when the middle of one long string is what is missing.
 */
export function createLineSplitter(onLine: (line: string) => void): LineSplitter {
  // A byte order mark is the parser's affair; a decoder that drops it would drop one on every line.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let head = NOTHING;
  let tail = NOTHING;
  let isAfterCr = false;

  const endLine = (rest: Uint8Array): void => {
    if (head.length === 0 && rest.length <= 2 * KEPT_BYTES) return onLine(decoder.decode(rest));
    hold(rest);
    const line = decoder.decode(join(head, tail));
    head = NOTHING;
    tail = NOTHING;
    onLine(line);
  };

  /** Copies: the chunk goes on to the client, who may take its memory away. */
  const hold = (part: Uint8Array): void => {
    const forHead = part.subarray(0, KEPT_BYTES - head.length);
    if (forHead.length > 0) head = join(head, forHead);
    const forTail = part.subarray(forHead.length);
    if (forTail.length >= KEPT_BYTES) tail = forTail.slice(-KEPT_BYTES);
    else if (forTail.length > 0) tail = join(tail, forTail).slice(-KEPT_BYTES);
  };

  return {
    get atLineStart() {
      return head.length === 0;
    },
    push(chunk) {
      if (chunk.length === 0) return;
      let start = isAfterCr && chunk[0] === LF ? 1 : 0;
      isAfterCr = false;
      let lf = chunk.indexOf(LF, start);
      let cr = chunk.indexOf(CR, start);
      while (lf !== -1 || cr !== -1) {
        const end = lf === -1 || (cr !== -1 && cr < lf) ? cr : lf;
        endLine(chunk.subarray(start, end));
        start = end + 1;
        if (end === cr && start === lf) start++;
        isAfterCr = end === cr && start === chunk.length;
        if (lf !== -1 && lf < start) lf = chunk.indexOf(LF, start);
        if (cr !== -1 && cr < start) cr = chunk.indexOf(CR, start);
      }
      if (start < chunk.length) hold(chunk.subarray(start));
    },
  };
}

function join(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
}
