import type { ScenarioName } from "./scenarios.js";
import type { Work } from "./work.js";

/** The work of one request, and the bytes that are held in the middle of its response. */
export interface WorkOfRequest extends Work {
  readonly heldBytes: number;
}

/**
 * The present cost of one request of each kind. If you make a request cheaper, write the new number here. If a change
 * makes it more expensive for a good reason, write the new number and the reason.
 */
export const PRESENT_WORK: Readonly<Record<ScenarioName, WorkOfRequest>> = {
  small: {
    moreWritesThanReads: 0,
    jsonParses: 2,
    jsonParsedChars: 726,
    jsonStringifies: 4,
    jsonStringifiedChars: 797,
    decodedBytes: 868,
    encodedBytes: 130,
    copiedBytes: 736,
    // Stores return promises, and the steps of a call are functions of their own.
    promises: 59,
    timers: 1,
    handles: 0,
    heldBytes: 290_000,
  },
  "4 MB of base64 in a response": {
    moreWritesThanReads: 0,
    // The first 8 KiB of a long item are parsed twice: for what the item says about a failure, and at its end for the
    // size of the image, which follows the base64.
    jsonParses: 10,
    jsonParsedChars: 16_700,
    jsonStringifies: 4,
    jsonStringifiedChars: 198,
    decodedBytes: 16_800,
    encodedBytes: 228,
    copiedBytes: 4_211_000,
    // Two for each chunk: that of the read, and the wait of the host for it.
    promises: 362,
    timers: 1,
    handles: 0,
    heldBytes: 555_000,
  },
  "100 events of 500 B": {
    moreWritesThanReads: 1,
    jsonParses: 102,
    jsonParsedChars: 45_900,
    jsonStringifies: 4,
    jsonStringifiedChars: 164,
    decodedBytes: 51_200,
    encodedBytes: 101,
    copiedBytes: 51_700,
    // Two for each chunk: that of the read, and the wait of the host for it.
    promises: 287,
    timers: 3,
    handles: 0,
    heldBytes: 330_000,
  },
  "10 events of 1 MB": {
    moreWritesThanReads: 1,
    jsonParses: 12,
    jsonParsedChars: 83_500,
    jsonStringifies: 4,
    jsonStringifiedChars: 193,
    decodedBytes: 85_200,
    encodedBytes: 130,
    copiedBytes: 10_656_000,
    // Two for each chunk: that of the read, and the wait of the host for it.
    promises: 745,
    timers: 3.5,
    handles: 0,
    heldBytes: 650_000,
  },
  "a form with 3 files of 10 MB": {
    moreWritesThanReads: 0,
    jsonParses: 1,
    jsonParsedChars: 580,
    jsonStringifies: 4,
    jsonStringifiedChars: 890,
    decodedBytes: 31_458_000,
    encodedBytes: 41_943_300,
    copiedBytes: 31_949_600,
    // For each piece that is sent: two of ours, and four of undici. For each block that is read: four.
    promises: 3_177,
    timers: 2,
    handles: 0,
    heldBytes: 32_550_000,
  },
  "JSON with 3 data URLs of 4 MB": {
    moreWritesThanReads: 0,
    jsonParses: 2,
    jsonParsedChars: 807,
    jsonStringifies: 4,
    jsonStringifiedChars: 890,
    decodedBytes: 1_279,
    encodedBytes: 217,
    // Memory for a body is taken as it arrives and not as it is declared, so up to a third is moved once
    // more.
    copiedBytes: 16_319_000,
    // None for the chunks of the body.
    promises: 132,
    // The pace of the body, the watch over the response, and one of undici.
    timers: 3,
    handles: 0,
    heldBytes: 12_890_000,
  },
};

/**
 * Bytes of the heap that a small request takes, by code that is interpreted. About half of them came with stores and
 * readers that return promises, and without tables of known values: simpler code was preferred for small requests.
 */
export const PRESENT_HEAP_BYTES = 103_000;

/** The allowed increase. */
const HEAD_ROOM = 1.12;

/** Additional differences between runs: timers of connections, memory of the runtime. */
const NOISE = { timers: 3, heldBytes: 256 * 1024 };

/** Messages about costs that rose, or that fell so far that a later increase would not be noticed. */
export function compareWork(work: WorkOfRequest, present: WorkOfRequest): string[] {
  const counts: Readonly<Record<string, number>> = { ...work };
  const noises: Readonly<Record<string, number>> = NOISE;
  return Object.entries<number>({ ...present }).flatMap(([name, count]) =>
    compareCount(name, counts[name] ?? 0, { present: count, noise: noises[name] ?? 0 }),
  );
}

/** As {@link compareWork}, of one number. */
export function compareCount(
  name: string,
  count: number,
  { present, noise = 0 }: { readonly present: number; readonly noise?: number },
): string[] {
  const limit = present * HEAD_ROOM + noise;
  if (count > limit) {
    return [
      `${name} rose from ${present} to ${count} for one request; at most ${Math.floor(limit)} are allowed`,
    ];
  }
  const isStale = present > 10 && present > 10 * noise && count < present / 2;
  return isStale ? [`${name} fell from ${present} to ${count}: write that into present-work.ts`] : [];
}
