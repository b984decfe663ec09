import { writeImageReply } from "../simulated-provider.ts";
import { type Bytes, drawCuts, mutateBytes, toBytes } from "./bytes.ts";
import { chance, drawInt, pick, type Random } from "./draw.ts";

/** A stream of server-sent events, and the positions at which it is cut into chunks. */
export interface EventStream {
  readonly body: Bytes;
  readonly cuts: readonly number[];
}

/** A relayed stream, and what its source and its reader do. */
export interface RelayCase extends EventStream {
  /** How the source ends. */
  readonly ending: "complete" | "fails";
  /** The reader leaves after this number of chunks. `null`: it reads the whole stream. */
  readonly leavesAfter: number | null;
  /** What the relay does with the rest after the reader has left. */
  readonly onAbandoned: "absent" | "reads to the end" | "gives up";
  /** The index of the event with the final result, which waits for the end of the source. `null`: no event waits. */
  readonly lastEvent: number | null;
  readonly rendersFailure: boolean;
}

export function drawEventStream(random: Random): EventStream {
  const bytes = drawStreamBytes(random);
  return { body: toBytes(bytes), cuts: drawCuts(random, bytes.length) };
}

export function drawRelayCase(random: Random): RelayCase {
  return {
    ...drawEventStream(random),
    ending: chance(random, 0.6) ? "complete" : "fails",
    leavesAfter: chance(random, 0.7) ? null : drawInt(random, 0, 4),
    onAbandoned: pick(random, ["absent", "reads to the end", "gives up"]),
    lastEvent: chance(random, 0.7) ? null : drawInt(random, 0, 4),
    rendersFailure: chance(random, 0.5),
  };
}

const LINE_ENDS = ["\n", "\r\n", "\r"];

function drawStreamBytes(random: Random): Buffer {
  const lineEnd = chance(random, 0.8) ? pick(random, LINE_ENDS) : undefined;
  const lines = chance(random, 0.2) ? providerLines(random) : drawLines(random);
  const text = lines.map((line) => line + (lineEnd ?? pick(random, LINE_ENDS))).join("");
  const bytes = Buffer.from(chance(random, 0.05) ? `\ufeff${text}` : text);
  const kind = random();
  if (kind < 0.15) return mutateBytes(random, bytes);
  return kind < 0.3 ? bytes.subarray(0, drawInt(random, 0, bytes.length)) : bytes;
}

function providerLines(random: Random): readonly string[] {
  return writeImageReply({ images: drawInt(random, 1, 3), form: "events" }).split("\n");
}

function drawLines(random: Random): string[] {
  const lines: string[] = [];
  for (let left = drawInt(random, 0, 5); left > 0; left -= 1) {
    for (let fields = drawInt(random, 0, 4); fields > 0; fields -= 1) lines.push(drawLine(random));
    lines.push("");
  }
  if (chance(random, 0.2)) lines.push(drawLine(random));
  return lines;
}

const FIELDS = [
  "data",
  "data",
  "data",
  "data",
  "event",
  "event",
  "id",
  "retry",
  "",
  "",
  "Data",
  "data ",
  "x",
  "dat",
  "events",
  "\ufeffdata",
];
const SEPARATORS = [": ", ":", ":  ", "", ":\t", " :", "::"];
const VALUES = [
  "",
  " ",
  "{}",
  "[DONE]",
  "error",
  "image_generation.completed",
  "message",
  "1",
  "a:b",
  "\0",
  "i\0d",
  "\ufeff",
  "é",
  "图片😀",
  "\u2028",
  "\u0085",
  "\ud800",
  '{"type":"image_generation.completed","usage":{"generated_images":1}}',
  "data: x",
];

function drawLine(random: Random): string {
  if (chance(random, 0.002))
    return `data: {"b64_json":"${"v".repeat(drawInt(random, 7_000, 20_000))}","n":1}`;
  return pick(random, FIELDS) + pick(random, SEPARATORS) + pick(random, VALUES);
}
