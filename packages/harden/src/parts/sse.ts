import { isDeepStrictEqual } from "node:util";
import { createSseReader, type RelayEnd, relaySse, type SseEvent } from "@calotype/core/sse";
import { createParser } from "eventsource-parser";
import { createFunctionPart, type FunctionCheck } from "../function-part.ts";
import { cutAt, fromBytes, shrinkBytes, toBytes } from "../grammar/bytes.ts";
import { drawEventStream, drawRelayCase, type EventStream, type RelayCase } from "../grammar/events.ts";
import { toRecord } from "../to-record.ts";
import { type ReferenceEvent, readEvents } from "./sse/read-events.ts";

/** Strings in lines of more than 16 KiB are shortened to this. */
const MAX_STRING = 8 * 1024;
const COMMENT = ": x\n\n";
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The functions for server-sent events. Tests replace them with broken ones. */
export interface EventFunctions {
  readonly createSseReader: typeof createSseReader;
  readonly relaySse: typeof relaySse;
}

export function createSseChecks(functions: EventFunctions): readonly FunctionCheck[] {
  return [createReaderCheck(functions), createRelayCheck(functions)];
}

/** The reader, against the standard and another parser. */
const createReaderCheck = (functions: EventFunctions): FunctionCheck<EventStream> => ({
  name: "the reader",
  draw: drawEventStream,
  findBroken({ body, cuts }) {
    const bytes = fromBytes(body);
    const expected = expectEvents(bytes);
    const { events, pauses } = read(functions.createSseReader, cutAt(bytes, cuts));
    if (!isSame(events, expected))
      return { rule: "the reader gives the events of the standard, at any split", seen: [events, expected] };
    const pause = pauses.find(
      ({ offset, isInsideEvent }) => isInsideEvent !== isInside(bytes.subarray(0, offset)),
    );
    if (pause !== undefined)
      return { rule: "the reader knows between which bytes an event has begun", seen: pause };
    // Before a byte order mark, a comment would take its place as the beginning of the stream.
    const free = pauses.find(({ offset, isInsideEvent }) => offset > 0 && !isInsideEvent)?.offset;
    if (free === undefined) return undefined;
    const withComment = Buffer.concat([bytes.subarray(0, free), Buffer.from(COMMENT), bytes.subarray(free)]);
    return isSame(parseByLibrary(decode(withComment)), parseByLibrary(decode(bytes)))
      ? undefined
      : { rule: "a comment outside of an event changes no event", seen: free };
  },
  shrink: shrinkStream,
});

/** The relay: its bytes, its events and its end. */
const createRelayCheck = (functions: EventFunctions): FunctionCheck<RelayCase> => ({
  name: "the relay",
  draw: drawRelayCase,
  async findBroken(input) {
    const bytes = fromBytes(input.body);
    const seen = await relay(functions.relaySse, input, bytes);
    const rule = findBrokenRelay(input, bytes, seen);
    return rule === undefined
      ? undefined
      : { rule, seen: { ...seen, bytes: seen.bytes.toString("latin1"), error: String(seen.error) } };
  },
  shrink: shrinkStream,
});

/** The reader and the relay of server-sent events alone. */
export const sse = createFunctionPart(
  {
    name: "sse",
    guarantees:
      "Feeds `createSseReader` and `relaySse` streams from a grammar of fields, values, line ends, byte order marks " +
      "and comments, also changed and cut off, in chunks of any size. The events are those of a model of the standard " +
      "and of `eventsource-parser`, at any split. The reader knows whether an event has begun, so that a comment " +
      "between events changes nothing. The relay passes each byte unchanged and in order and reports its end once. If the " +
      "source breaks off between two events, the relay can add an error event; inside an event it throws. An input is one " +
      "stream with its cuts.",
    weight: 0.5,
  },
  createSseChecks({ createSseReader, relaySse }),
);

/** The state of the reader between two chunks. */
interface Pause {
  /** The number of bytes that the reader has read. */
  readonly offset: number;
  readonly isInsideEvent: boolean;
}

function read(
  createReader: typeof createSseReader,
  chunks: readonly Uint8Array[],
): { readonly events: SseEvent[]; readonly pauses: Pause[] } {
  const events: SseEvent[] = [];
  const pauses: Pause[] = [];
  const reader = createReader((event) => events.push(event));
  let offset = 0;
  for (const chunk of chunks) {
    reader.push(chunk);
    offset += chunk.length;
    pauses.push({ offset, isInsideEvent: reader.isInsideEvent });
  }
  return { events, pauses };
}

function decode(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** The events that a stream holds, by the standard. The two references must agree. */
function expectEvents(bytes: Uint8Array): readonly ReferenceEvent[] {
  const text = decode(bytes);
  const expected = readEvents(text);
  const parsed = parseByLibrary(text);
  if (isSame(parsed, expected)) return expected;
  throw new Error(`The references disagree: ${JSON.stringify([expected, parsed])}`);
}

function parseByLibrary(text: string): readonly ReferenceEvent[] {
  const events: ReferenceEvent[] = [];
  let lastId: string | undefined;
  const parser = createParser({
    onEvent: ({ event, data }) => events.push({ event: event === "" ? undefined : event, data, id: lastId }),
    onId: (id) => {
      lastId = id;
    },
  });
  // The library waits after a CR for the LF that may follow.
  parser.feed(text.endsWith("\r") ? `${text}\n` : text);
  return events;
}

/** True for the same events. The reader may shorten the strings of long lines. */
function isSame(events: readonly Partial<ReferenceEvent>[], expected: readonly ReferenceEvent[]): boolean {
  return (
    events.length === expected.length &&
    expected.every(({ event, data, id }, index) => {
      const other = events[index];
      return other !== undefined && other.event === event && other.id === id && isSameData(other.data, data);
    })
  );
}

function isSameData(data: string | undefined, expected: string): boolean {
  if (data === expected) return true;
  const lines = data?.split("\n") ?? [];
  return expected
    .split("\n")
    .every((line, index) => lines[index] === line || isShortened(line, lines[index]));
}

/** True for a long line of JSON with the beginnings of its strings. Of a damaged line, only the beginning is known. */
function isShortened(line: string, shown: string | undefined): boolean {
  if (line.length < MAX_STRING || shown === undefined || shown.length >= line.length) return false;
  const [whole, shortened] = [parse(line), parse(shown)];
  const isBeginning = shown.slice(0, MAX_STRING / 2) === line.slice(0, MAX_STRING / 2);
  if (whole === undefined) return isBeginning;
  const names = Object.keys(whole);
  return (
    isBeginning &&
    shortened !== undefined &&
    names.join() === Object.keys(shortened).join() &&
    names.every((name) => isPrefix(shortened[name], whole[name]))
  );
}

/** The prefix may end with a replacement character, because some bytes of the last character were cut. */
function isPrefix(prefix: unknown, value: unknown): boolean {
  if (typeof prefix !== "string" || typeof value !== "string") return isDeepStrictEqual(prefix, value);
  return (
    value.startsWith(prefix.replace(/\ufffd$/, "")) && prefix.length >= Math.min(value.length, MAX_STRING / 3)
  );
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return toRecord(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** True if a line of an event or a part of a line has come since the last blank line. */
function isInside(bytes: Uint8Array): boolean {
  const text = decode(bytes).replace(/^\ufeff/, "");
  if (bytes.length > 0 && !/[\r\n]$/.test(decode(bytes))) return true;
  const lines = text.split(/\r\n|\n|\r/);
  lines.pop();
  return lines.slice(lines.lastIndexOf("") + 1).some((line) => !line.startsWith(":"));
}

/** What a reader of the relay saw. */
interface Relayed {
  readonly bytes: Buffer;
  readonly ends: readonly RelayEnd[];
  /** True if the end was told before the last chunk was passed, or before the reader left. */
  readonly wasEndFirst: boolean;
  readonly events: readonly SseEvent[];
  readonly error: unknown;
  /** True if the reader left before the end. */
  readonly hasLeft: boolean;
}

const SOURCE_ERROR = new Error("the source broke off");
const FAILURE = "event: error\ndata: broken\n\n";

function findBrokenRelay(input: RelayCase, bytes: Buffer, seen: Relayed): string | undefined {
  if (seen.ends.length !== 1) return "the relay tells its end once";
  const [end] = seen.ends;
  const isRead = !seen.hasLeft || input.onAbandoned === "reads to the end" || seen.wasEndFirst;
  const expectedEnd = input.ending === "fails" ? "failed" : "complete";
  if (end?.reason !== (isRead ? expectedEnd : "abandoned")) return "the relay says how the source ended";
  if (isRead && !isSame(seen.events, expectEvents(bytes))) return "the relay gives all events";
  const isRendered = input.ending === "fails" && input.rendersFailure && !isInside(bytes);
  const expected = isRendered ? Buffer.concat([bytes, Buffer.from(FAILURE)]) : bytes;
  if (seen.hasLeft) {
    const isPart = expected.subarray(0, seen.bytes.length).equals(seen.bytes);
    return isPart && seen.error === undefined
      ? undefined
      : "a reader that leaves got the beginning of the stream";
  }
  if (!seen.bytes.equals(expected)) return "the relay passes each byte unchanged";
  const isThrown = input.ending === "fails" && !isRendered;
  if (seen.error !== (isThrown ? SOURCE_ERROR : undefined))
    return "the relay throws the error of its source inside an event";
  const hasLast = input.lastEvent !== null && expectEvents(bytes).length > input.lastEvent;
  return hasLast && !seen.wasEndFirst
    ? "what follows the last event waits until the end was told"
    : undefined;
}

async function relay(relayEvents: typeof relaySse, input: RelayCase, bytes: Buffer): Promise<Relayed> {
  const events: SseEvent[] = [];
  const ends: RelayEnd[] = [];
  const pending: Promise<void>[] = [];
  let wasEndFirst = true;
  const stream = relayEvents(produce(cutAt(bytes, input.cuts), input.ending), {
    onEvent: (event) => events.push(event),
    isLast: () => input.lastEvent !== null && events.length > input.lastEvent,
    onEnd: async (end) => {
      await Promise.resolve();
      ends.push(end);
    },
    ...(input.onAbandoned !== "absent" && {
      onAbandoned: ({ readToEnd, giveUp }) => {
        pending.push(input.onAbandoned === "gives up" ? giveUp() : readToEnd());
      },
    }),
    ...(input.rendersFailure && { renderFailure: () => FAILURE }),
  });
  const passed: Uint8Array[] = [];
  let error: unknown;
  let hasLeft = false;
  try {
    for (;;) {
      if (passed.length === input.leavesAfter) {
        hasLeft = true;
        wasEndFirst = ends.length > 0;
        await stream.return?.();
      }
      const { done, value } = await stream.next();
      if (done === true) break;
      passed.push(value);
      wasEndFirst = ends.length > 0;
    }
  } catch (thrown) {
    error = thrown;
  }
  await Promise.all(pending);
  return { bytes: Buffer.concat(passed), ends, wasEndFirst, events, error, hasLeft };
}

async function* produce(
  chunks: readonly Uint8Array[],
  ending: RelayCase["ending"],
): AsyncGenerator<Uint8Array> {
  yield* chunks;
  if (ending === "fails") throw SOURCE_ERROR;
}

function* shrinkStream<Input extends EventStream>(input: Input): Iterable<Input> {
  if (input.cuts.length > 0) yield { ...input, cuts: [] };
  for (const cut of input.cuts) yield { ...input, cuts: input.cuts.filter((other) => other !== cut) };
  for (const body of shrinkBytes(fromBytes(input.body))) yield { ...input, body: toBytes(body) };
}
