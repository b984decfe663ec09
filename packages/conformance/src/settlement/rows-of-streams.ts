import {
  base64Event,
  completedEvent,
  DONE,
  errorEvent,
  FAILED_IMAGE,
  failedEvent,
  imageEvent,
  report,
  usageOf,
} from "./making.js";
import { charges, errorEventOf, NOTHING, ONE, type Row, type RowGroup, UNPRICED } from "./row.js";
import { cuts, hangs, type Script, says, stopsAfter } from "./script.js";
import { ALL, RELAYED, STREAMS, TRANSLATED, WHOLE } from "./ways.js";

const image = { status: 200, images: 1 };
const HALF_EVENT = imageEvent(1).slice(0, -10);
const LONG_IMAGE = base64Event(1, 300_000);

/** A report in the middle of a very long line. */
const LONG_REPORT = `{"text":"${"n".repeat(30_000)}",${report(4).slice(1, -1)},"more":"${"n".repeat(30_000)}"}`;

/** Rows of a stream that ends normally without an image. */
function empty(
  happened: string,
  events: readonly string[],
  { code, ...rest }: { readonly code: string } & Pick<Row, "repeat">,
): readonly Row[] {
  const row = { happened, provider: [says("events", ...events)], charges: NOTHING, ...rest };
  const sees = { status: 200, images: 0 };
  return [
    { ...row, ways: RELAYED, sees, record: { images: 0, errorCode: code } },
    { ...row, ways: TRANSLATED, sees: errorEventOf(code) },
  ];
}

/** A row of a stream that ends normally. */
function stream(
  happened: string,
  events: readonly string[],
  rest: Omit<Row, "happened" | "ways" | "provider"> & Partial<Pick<Row, "ways">>,
): Row {
  return { happened, ways: STREAMS, provider: [says("events", ...events)], ...rest };
}

export const EVENTS: RowGroup = {
  title: "Unusual events",
  introduction:
    "The report is in `image_generation.completed`, at any place in the stream. If this event never comes, the images that came are charged, each image once. Their sizes give the tokens: width × height ÷ 256. An image without a size counts with the requested size; a preset such as `2K` counts with its largest image.",
  rows: [
    stream(
      "`completed` twice: the last counts, not the sum",
      [imageEvent(0), completedEvent(report(1)), completedEvent(report(1)), DONE],
      { sees: image, charges: ONE },
    ),
    stream(
      "`completed` with a report, and another without",
      [imageEvent(0), completedEvent(report(1)), completedEvent(undefined), DONE],
      { sees: image, charges: ONE },
    ),
    stream("`completed` before the image", [completedEvent(report(1)), imageEvent(0), DONE], {
      sees: image,
      charges: ONE,
    }),
    stream(
      "A report in the middle of a `completed` of 60 KB",
      [imageEvent(0), completedEvent(LONG_REPORT), DONE],
      {
        asked: 4,
        sees: image,
        record: { images: 1, usage: usageOf(4) },
        charges: charges("1", "0.65536"),
      },
    ),
    stream("No `completed`, two images", [imageEvent(0), imageEvent(1), DONE], {
      asked: 2,
      sees: { status: 200, images: 2 },
      charges: charges("0.5", "0.32768"),
    }),
    stream("No `completed`, and one image is reported twice", [imageEvent(0), imageEvent(0), DONE], {
      sees: { status: 200, images: 2 },
      record: { images: 1 },
      charges: ONE,
    }),
    stream("No `completed`, an image without a size: it counts as requested", [imageEvent(0, ""), DONE], {
      sees: image,
      charges: ONE,
    }),
    stream("No `completed`, and neither the image nor the request has a size", [imageEvent(0, ""), DONE], {
      fields: { size: undefined },
      sees: image,
      record: { images: 1, usage: { generated_images: 1 } },
      charges: charges("0.25", UNPRICED),
    }),
    ...empty("No `completed`, only a failed image", [failedEvent(0), DONE], { code: FAILED_IMAGE.code }),
    ...empty("Only `[DONE]`", [DONE], { code: "upstream_no_image" }),
    ...empty("An empty stream", [], { code: "upstream_no_image", repeat: "stored" }),
    stream("An `error` event and no image", [errorEvent("Broken")], {
      sees: { status: 200, images: 0, code: "Broken", ending: "error event" },
      charges: NOTHING,
    }),
    stream("An `error` event after an image", [imageEvent(0), errorEvent("Broken")], {
      ways: RELAYED,
      sees: { ...image, code: "Broken", ending: "error event" },
      charges: ONE,
    }),
    stream(
      "An `error` event after an image: it is listed in `extra.errors`",
      [imageEvent(0), errorEvent("Broken")],
      { ways: TRANSLATED, sees: image, record: { images: 1, errorCode: "Broken" }, charges: ONE },
    ),
    stream(
      "`completed` before two images: both are sent",
      [completedEvent(report(2)), imageEvent(0), imageEvent(1), DONE],
      { asked: 2, sees: { status: 200, images: 2 }, charges: charges("0.5", "0.32768") },
    ),
  ],
};

const FROM_JSON = [...WHOLE, "Qwen-Image stream"] as const;
const invalid = "upstream_invalid_response";
const timeout = "upstream_timeout";
/** Short enough for a test, and longer than a busy machine takes to respond. */
const silenceMs = 700;

/** Rows of a provider whose connection breaks after some bytes, or that stops sending. */
function stopped(
  happened: readonly [cut: string, silent: string],
  texts: readonly string[],
  rest: (code: string) => Pick<Row, "ways" | "asked" | "sees" | "charges" | "record">,
): readonly Row[] {
  const kind = rest(invalid).ways === FROM_JSON ? "json" : "events";
  return [
    {
      happened: happened[0],
      provider: [stopsAfter("cut", kind, ...texts)],
      repeat: "stored",
      ...rest(invalid),
    },
    {
      happened: happened[1],
      provider: [stopsAfter("hang", kind, ...texts)],
      silenceMs,
      repeat: "stored",
      ...rest(timeout),
    },
  ];
}

const silentOrCut = (script: Script, happened: string, status: number, code: string): Row => ({
  happened,
  ways: ALL,
  provider: [script],
  silenceMs,
  sees: { status, code },
  repeat: "stored",
  charges: NOTHING,
});

export const CONNECTIONS: RowGroup = {
  title: "The provider breaks off or stops sending",
  introduction:
    "The request is not sent again: an image may have been made. In a stream, the images that came are charged. For incomplete JSON nothing is charged. The provider may bill you for images that no client received.",
  rows: [
    silentOrCut(cuts, "The connection breaks before the response", 502, invalid),
    silentOrCut(hangs, "No response within `firstByteSeconds`", 504, timeout),
    ...stopped(
      ["The connection breaks inside the JSON", "Silence inside the JSON for `idleSeconds`"],
      ['{"data":[{"url":"https://images.example/0.png"}'],
      (code) => ({ ways: FROM_JSON, sees: { status: code === timeout ? 504 : 502, code }, charges: NOTHING }),
    ),
    ...stopped(
      ["The connection breaks between the report and the end of the JSON", "Silence between them"],
      [`{"data":[{"url":"https://images.example/0.png"}],"usage":${report(1)}`],
      (code) => ({ ways: FROM_JSON, sees: { status: code === timeout ? 504 : 502, code }, charges: NOTHING }),
    ),
    ...stopped(
      ["The connection breaks before the first event", "Silence before the first event"],
      [],
      (code) => ({ ways: RELAYED, sees: errorEventOf(code), charges: NOTHING }),
    ),
    ...stopped(
      ["The connection breaks before the first event", "Silence before the first event"],
      [],
      (code) => ({
        ways: TRANSLATED,
        sees: { status: code === timeout ? 504 : 502, code },
        charges: NOTHING,
      }),
    ),
    ...stopped(
      ["The connection breaks between two events", "Silence between two events"],
      [imageEvent(0)],
      (code) => ({ ways: STREAMS, sees: { ...image, code, ending: "error event" }, charges: ONE }),
    ),
    ...stopped(
      ["The connection breaks inside an event", "Silence inside an event"],
      [imageEvent(0), HALF_EVENT],
      (code) => ({
        ways: RELAYED,
        sees: { ...image, ending: "breaks off" },
        record: { images: 1, errorCode: code },
        charges: ONE,
      }),
    ),
    ...stopped(
      ["The connection breaks inside an event with a link", "Silence inside an event with a link"],
      [imageEvent(0), HALF_EVENT],
      (code) => ({ ways: TRANSLATED, sees: { ...image, code, ending: "error event" }, charges: ONE }),
    ),
    ...stopped(
      ["The connection breaks inside base64", "Silence inside base64"],
      [imageEvent(0), LONG_IMAGE.slice(0, -1_000)],
      (code) => ({
        ways: STREAMS,
        sees: { ...image, ending: "breaks off" },
        record: { images: 1, errorCode: code },
        charges: ONE,
      }),
    ),
    ...stopped(
      ["The connection breaks after `completed`", "Silence after `completed`"],
      [imageEvent(0), completedEvent(report(2))],
      (code) => ({
        ways: RELAYED,
        asked: 2,
        sees: { ...image, code, ending: "error event" },
        record: { images: 1, usage: usageOf(2) },
        charges: charges("0.5", "0.32768"),
      }),
    ),
    ...stopped(
      [
        "The connection breaks after `completed`: the stream is complete",
        "Silence after `completed`: the stream is complete",
      ],
      [imageEvent(0), completedEvent(report(2))],
      (errorCode) => ({
        ways: TRANSLATED,
        asked: 2,
        sees: image,
        record: { images: 1, errorCode, usage: usageOf(2) },
        charges: charges("0.5", "0.32768"),
      }),
    ),
  ],
};
