import type { Capabilities } from "@calotype/core";
import { base64Event, completedEvent, DONE, FAILED_IMAGE, report, usageOf } from "./making.ts";
import { charges, NOTHING, ONE, type Row, type RowGroup, UNPRICED } from "./row.ts";
import { cuts, linksTo, makes, type Script, says, stopsAfter } from "./script.ts";
import type { Way } from "./ways.ts";

const invalid = "upstream_invalid_response";
const timeout = "upstream_timeout";
/** Short enough for a test, and longer than a busy machine takes to respond. */
const silenceMs = 700;

const image = { status: 200, images: 1 };
const TWO_CHARGES = charges("0.5", "0.32768");

/** A model that does not stream and makes one image per call. */
const SINGLE: Capabilities = { imagesPerCall: 1, streaming: false, sequentialImages: false };

const LONG = `{"b64_json":"/9j/${"A".repeat(300_000)}","size":"2048x2048"}`;
/** An image, and the beginning of another one. */
const ONE_AND_A_HALF = `{"created":1763683200,"data":[${LONG},${LONG.slice(0, 200_000)}`;

const MIB = 1024 * 1024;
const HUGE = 30 * MIB;
const hugeImage = `{"b64_json":"/9j/${"A".repeat(HUGE)}","size":"2048x2048"}`;

const OPENAI: readonly Way[] = ["OpenAI stream"];

/** A row of JSON that becomes events. */
function fromJson(happened: string, provider: Script, row: Omit<Row, "happened" | "ways" | "provider">): Row {
  return { happened, ways: OPENAI, provider: [provider], ...row };
}

/** Rows of JSON that breaks off after its first image. */
function stopped(where: string, text: string, row: Pick<Row, "record" | "charges" | "sees">): readonly Row[] {
  return (["cut", "hang"] as const).map((how): Row => {
    const errorCode = how === "cut" ? invalid : timeout;
    const sees = row.sees?.ending === "error event" ? { ...row.sees, code: errorCode } : row.sees;
    const facts = typeof row.record === "object" ? row.record : { images: 1 };
    return {
      happened: `${how === "cut" ? "The connection breaks" : "Silence"} ${where}`,
      ways: OPENAI,
      asked: 2,
      provider: [stopsAfter(how, "json", text)],
      silenceMs,
      repeat: "stored",
      ...row,
      ...(sees && { sees }),
      record: { ...facts, errorCode },
    };
  });
}

/** Links of Qwen-Image that become base64. */
function linked(
  happened: string,
  downloads: readonly Script[],
  {
    images = downloads.length,
    ...row
  }: Omit<Row, "happened" | "ways" | "provider" | "downloads"> &
    Partial<Pick<Row, "ways">> & {
      /** Default: as many as there are downloads. An image may be downloaded again. */
      readonly images?: number;
    },
): Row {
  const fields = { response_format: "b64_json" };
  return {
    happened,
    ways: ["Qwen-Image stream"],
    fields,
    provider: [linksTo(images)],
    asked: images,
    downloads,
    ...row,
  };
}

const FILE_BYTES = 200_000;
const FILE = says("file", "A".repeat(FILE_BYTES));
const HALF_FILE = stopsAfter("cut", "file", "A".repeat(FILE_BYTES));
/** Larger than what JSON holds. */
const LARGE_FILE = says("file", "A".repeat(3 * MIB), "A".repeat(3 * MIB));
const HALF_LARGE_FILE = stopsAfter("cut", "file", "A".repeat(3 * MIB), "A".repeat(3 * MIB));
const SILENT_LARGE_FILE = stopsAfter("hang", "file", "A".repeat(3 * MIB), "A".repeat(3 * MIB));
const SILENT_FILE = stopsAfter("hang", "file", "A".repeat(FILE_BYTES));

export const OPENAI_STREAMS: RowGroup = {
  title: "A stream in OpenAI's format that is made from something else",
  introduction:
    "A model that does not stream, JSON in place of a stream, and links that become base64, see [streaming](streaming.md#openais-format); for JSON with links, see [results](base64.md). Nothing is sent before an image is certain, so a failure before that is an HTTP error. After that, each image whose event is complete is charged. A stream that breaks inside base64 is reset. So is JSON whose links become base64, if its images are larger than 4 MiB together.",
  rows: [
    {
      happened: "A model that does not stream makes an image",
      ways: OPENAI,
      capabilities: SINGLE,
      provider: [makes({ images: 1, usage: report(1) })],
      sees: image,
      charges: ONE,
    },
    {
      happened: "A model that does not stream makes no image",
      ways: OPENAI,
      capabilities: SINGLE,
      provider: [makes({ images: 0, failed: 1, usage: report(0) })],
      sees: { status: 502, code: FAILED_IMAGE.code },
      record: { images: 0, usage: usageOf(0) },
      charges: NOTHING,
    },
    fromJson(
      "Two images of 30 MB in JSON",
      says("json", `{"data":[${hugeImage},${hugeImage}],"usage":${report(2)}}`),
      { asked: 2, isLarge: true, sees: { status: 200, images: 2 }, charges: TWO_CHARGES },
    ),
    {
      happened: "Two images of 30 MB in the provider's events",
      ways: OPENAI,
      isLarge: true,
      asked: 2,
      provider: [says("events", base64Event(0, HUGE), base64Event(1, HUGE), completedEvent(report(2)), DONE)],
      sees: { status: 200, images: 2 },
      charges: TWO_CHARGES,
    },
    ...stopped("in JSON, after an image and inside another one", ONE_AND_A_HALF, {
      sees: { ...image, ending: "breaks off" },
      record: { images: 1, usage: { generated_images: 1 } },
      charges: charges("0.25", UNPRICED),
    }),
    ...stopped("in JSON, after an image and before the report", `{"data":[${LONG}],`, {
      sees: { ...image, ending: "error event" },
      record: { images: 1, usage: { generated_images: 1 } },
      charges: charges("0.25", UNPRICED),
    }),
    ...stopped("in JSON, after an image and its report", `{"data":[${LONG}],"usage":${report(1)}`, {
      sees: { ...image, ending: "error event" },
      record: { images: 1, usage: usageOf(1) },
      charges: ONE,
    }),
    linked("Two images whose links become base64", [FILE, FILE], {
      ways: ["Qwen-Image", "Qwen-Image stream"],
      sees: { status: 200, images: 2 },
      charges: TWO_CHARGES,
    }),
    linked("The second of two downloads breaks off: it was made, so it is charged", [FILE, HALF_FILE], {
      sees: { ...image, ending: "breaks off" },
      record: { images: 2, errorCode: invalid },
      charges: TWO_CHARGES,
    }),
    linked("The first of two downloads fails: it stays a link", [cuts, FILE], {
      ways: ["Qwen-Image", "Qwen-Image stream"],
      sees: { status: 200, images: 2 },
      charges: TWO_CHARGES,
    }),
    linked("Two large images whose links become base64", [LARGE_FILE, LARGE_FILE, LARGE_FILE], {
      ways: ["Qwen-Image"],
      images: 2,
      sees: { status: 200, images: 2 },
      charges: TWO_CHARGES,
    }),
    linked("The download of a large image breaks off", [HALF_LARGE_FILE], {
      ways: ["Qwen-Image"],
      sees: { status: 200, images: 0, ending: "breaks off" },
      record: { images: 1, errorCode: invalid },
      charges: ONE,
    }),
    linked("The client disconnects during the download of a large image", [SILENT_LARGE_FILE], {
      ways: ["Qwen-Image"],
      client: "during the body",
      record: { images: 1 },
      charges: ONE,
    }),
    linked("The client disconnects during a download", [SILENT_FILE], {
      client: "during the body",
      record: { images: 1 },
      charges: ONE,
    }),
  ],
};
