import { completedEvent, DONE, imageEvent, report } from "./making.js";
import { charges, NOTHING, ONE, type Row, type RowGroup } from "./row.js";
import { hangs, makes, onceClientLeft, type Script, says, stopsAfter } from "./script.js";
import { ALL, STREAMS, WHOLE } from "./ways.js";

const success = makes({ images: 1, usage: report(1) });
const TWO_CHARGES = charges("0.5", "0.32768");

/** A row of a client that disconnects after the first image of a stream. */
function midStream(happened: string, rest: Script, row: Pick<Row, "record" | "charges" | "silenceMs">): Row {
  return {
    happened,
    ways: STREAMS,
    asked: 2,
    client: "during the body",
    provider: [onceClientLeft(rest, imageEvent(0))],
    ...row,
  };
}

export const CLIENTS: RowGroup = {
  title: "The client disconnects",
  introduction:
    "After a request was sent, it is charged as if the client had stayed: the gateway reads the rest of the upstream response in the background, within [limits](streaming.md#clients-that-disconnect). The record has the status that the client would have seen.",
  rows: [
    {
      happened: "Before the request was sent",
      ways: ALL,
      client: "before the response",
      provider: [],
      options: (clientLeft) => ({ beforeSend: async () => void (await clientLeft) }),
      record: "none",
      charges: NOTHING,
    },
    {
      happened: "Before the first byte of the response",
      ways: ALL,
      client: "before the response",
      provider: [onceClientLeft(success)],
      record: { images: 1 },
      charges: ONE,
    },
    {
      happened: "While the provider's JSON arrives",
      ways: WHOLE,
      client: "before the response",
      provider: [onceClientLeft(success, " ")],
      record: { images: 1 },
      charges: ONE,
    },
    {
      happened: "After the head of the response",
      ways: STREAMS,
      client: "after the head",
      provider: [onceClientLeft(success, ": \n\n")],
      record: { images: 1 },
      charges: ONE,
    },
    midStream("During the stream", says("events", imageEvent(1), completedEvent(report(2)), DONE), {
      record: { images: 2 },
      charges: TWO_CHARGES,
    }),
    midStream("During the stream, and `completed` never comes", says("events", imageEvent(1)), {
      record: { images: 2 },
      charges: TWO_CHARGES,
    }),
    midStream("During the stream, and the provider breaks off", stopsAfter("cut", "events", imageEvent(1)), {
      record: { images: 2, errorCode: "upstream_invalid_response" },
      charges: TWO_CHARGES,
    }),
    midStream("During the stream, and the provider stops sending", hangs, {
      silenceMs: 700,
      record: { images: 1, errorCode: "upstream_timeout" },
      charges: ONE,
    }),
    {
      happened: "Before the first byte, and the provider never responds",
      ways: ALL,
      client: "before the response",
      silenceMs: 700,
      provider: [hangs],
      record: { status: 504, images: 0, errorCode: "upstream_timeout" },
      repeat: "stored",
      charges: NOTHING,
    },
    {
      happened: "Right after the response",
      ways: ALL,
      client: "after the response",
      provider: [success],
      sees: { status: 200, images: 1 },
      charges: ONE,
    },
  ],
};

/** Rows of a gateway that is closed before the upstream response has ended. */
function closed(onLost: "release" | "charge"): readonly Row[] {
  const deadline = `The deadline of \`gateway.close()\` passes`;
  const option = `with \`onLost: "${onLost}"\``;
  const code = "upstream_invalid_response";
  const common = {
    closed: onLost,
    record: { state: "unresolved", images: 0 },
    charges: onLost === "release" ? NOTHING : ONE,
    next: 503,
  } as const;
  return [
    {
      ...common,
      happened: `${deadline}, ${option}`,
      ways: ALL,
      provider: [hangs],
      sees: { status: 502, code },
    },
    {
      ...common,
      happened: `${deadline} during a stream, ${option}`,
      ways: STREAMS,
      provider: [stopsAfter("hang", "events", imageEvent(0))],
      sees: { status: 200, images: 1, code, ending: "error event" },
    },
  ];
}

export const CLOSINGS: RowGroup = {
  title: "The outcome of the request is unknown",
  introduction:
    "The process died, or was closed before the upstream response ended. The hold becomes an unresolved record. `billing.onLost` says what it costs: nothing, or the hold.",
  rows: [...closed("release"), ...closed("charge")],
};
