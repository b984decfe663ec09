import { gzipSync } from "node:zlib";
import { report, usageOf } from "./making.js";
import { charges, NOTHING, ONE, type Row, type RowGroup } from "./row.js";
import {
  cuts,
  hangs,
  linksTo,
  makes,
  makesCoded,
  onceClientLeft,
  refuses,
  says,
  stopsAfter,
} from "./script.js";
import { QWEN_IMAGE_WAYS, type Way } from "./ways.js";

/** Long enough to be sent before it has ended. */
const HALF = `{"data":[{"b64_json":"/9j/${"A".repeat(300_000)}`;
const HUGE = `{"data":[{"b64_json":"/9j/${"A".repeat(30 * 1024 * 1024)}"}],"usage":${report(1)}}`;
const huge = says("json", HUGE);
const success = makes({ images: 1, usage: report(1) });
const TWO_CHARGES = charges("0.5", "0.32768");

const WHOLE_WAYS: readonly Way[] = ["JSON", "Qwen-Image"];
const STREAM_WAYS: readonly Way[] = ["OpenAI stream", "Qwen-Image stream"];
const SINGLE_WAYS = [...WHOLE_WAYS, ...STREAM_WAYS];

const common = {
  ways: SINGLE_WAYS,
  capabilities: { imagesPerCall: 1, streaming: false, sequentialImages: false },
};

/** Two calls with a link each that becomes base64. */
const twoLinks = {
  ...common,
  ways: ["Qwen-Image"],
  fields: { response_format: "b64_json" },
  asked: 2,
  provider: [linksTo(1), linksTo(1)],
} as const;
/** More than JSON holds. */
const LARGE = ["A".repeat(3 * 1024 * 1024), "A".repeat(3 * 1024 * 1024)];

/** A row of a request for two images whose first or second call does something else than succeed. */
function oneOfTwo(happened: string, other: Row["provider"][number], rest: Partial<Row> = {}): Row {
  return {
    ...common,
    happened,
    asked: 2,
    provider: [success, other],
    sees: { status: 200, images: 1 },
    charges: ONE,
    ...rest,
  };
}

/** Rows of a gateway that is closed while a call is open. */
function closed(onLost: "release" | "charge"): readonly Row[] {
  const happened = `The deadline of \`gateway.close()\` passes after one of two images was made, with \`onLost: "${onLost}"\``;
  const code = "upstream_invalid_response";
  const rest = {
    closed: onLost,
    record: { state: "unresolved", images: 0 },
    charges: onLost === "release" ? NOTHING : TWO_CHARGES,
    next: 503,
  } as const;
  return [
    oneOfTwo(happened, hangs, { ...rest, ways: WHOLE_WAYS, sees: { status: 502, code } }),
    oneOfTwo(happened, hangs, {
      ...rest,
      ways: STREAM_WAYS,
      sees: { status: 200, images: 1, code, ending: "error event" },
    }),
  ];
}

export const SEVERAL_CALLS: RowGroup = {
  title: "Several images of a model that makes one image per call",
  introduction:
    "The gateway makes one upstream call for each image, at most four at once, see [several images](several-images.md). They have one hold, one charge and one record. The report of each call is read by itself; the charge is for their sum. With at least one image the response has the images, and lists the failed calls in `extra.errors`. Without an image it is the error of the first call. A stream in OpenAI's format sends each image when its call has a response.",
  rows: [
    {
      ...common,
      happened: "Each of four calls makes an image",
      asked: 4,
      provider: [success, success, success, success],
      sees: { status: 200, images: 4 },
      charges: charges("1", "0.65536"),
    },
    {
      ...common,
      happened: "The budget is exactly the hold: the request passes",
      asked: 2,
      budget: TWO_CHARGES,
      provider: [success, success],
      sees: { status: 200, images: 2 },
      charges: TWO_CHARGES,
      next: 403,
    },
    {
      ...common,
      happened: "Two images, and one of the calls has no report",
      ways: QWEN_IMAGE_WAYS,
      asked: 2,
      provider: [success, makes({ images: 1 })],
      sees: { status: 200, images: 2 },
      charges: TWO_CHARGES,
    },
    {
      ...common,
      happened: "Two images, and no call has a report of tokens",
      ways: ["JSON", "OpenAI stream"],
      asked: 2,
      provider: [makes({ images: 1 }), makes({ images: 1, usage: '{"generated_images":1}' })],
      sees: { status: 200, images: 2 },
      record: { images: 2, usage: { generated_images: 2 } },
      charges: charges("0.5", "unpriced"),
    },
    oneOfTwo("One image, and the provider refuses the other call", refuses(400, "Sensitive")),
    oneOfTwo("One image, and the other call has none", makes({ images: 0 })),
    oneOfTwo(
      "One image, and the other call has none and reports one",
      makes({ images: 0, usage: report(1) }),
      {
        record: { images: 1, usage: usageOf(2) },
        charges: TWO_CHARGES,
      },
    ),
    oneOfTwo("One image, and the connection of the other call breaks", cuts),
    oneOfTwo("One image, and no response to the other call within `firstByteSeconds`", hangs, {
      silenceMs: 700,
    }),
    ...(["release", "charge"] as const).map((onLost) =>
      oneOfTwo(
        `One image, and a compressed response, with \`onLost: "${onLost}"\``,
        makesCoded("gzip", gzipSync, { images: 1, usage: report(1) }),
        { onLost, charges: onLost === "release" ? ONE : TWO_CHARGES },
      ),
    ),
    {
      ...oneOfTwo(
        "One image with a report of two, and the provider refuses the other call",
        refuses(400, "No"),
      ),
      provider: [makes({ images: 1, usage: report(2) }), refuses(400, "No")],
      record: { images: 1, usage: usageOf(1), reportedUsage: usageOf(2) },
    },
    {
      ...common,
      happened: "The provider refuses all calls",
      asked: 2,
      provider: [refuses(400, "Sensitive"), refuses(400, "Sensitive")],
      sees: { status: 400, code: "Sensitive" },
      charges: NOTHING,
    },
    {
      ...common,
      happened: "The connection breaks for all calls",
      asked: 2,
      provider: [cuts, cuts],
      sees: { status: 502, code: "upstream_invalid_response" },
      charges: NOTHING,
      repeat: "stored",
    },
    {
      ...common,
      happened: "One channel cannot be reached, and all calls succeed on the next one",
      asked: 2,
      channels: ["nobody", "provider"],
      provider: [success, success],
      sees: { status: 200, images: 2 },
      record: { images: 2, channel: "channel 2" },
      charges: TWO_CHARGES,
    },
    {
      ...common,
      happened: "No channel can be reached",
      asked: 2,
      channels: ["nobody"],
      provider: [],
      sees: { status: 502, code: "upstream_unreachable" },
      record: "none",
      charges: NOTHING,
      next: 502,
    },
    {
      ...common,
      happened: "The client disconnects after four of six calls were sent: the others are not sent",
      asked: 6,
      client: "before the response",
      provider: [1, 2, 3, 4].map(() => onceClientLeft(success)),
      record: { images: 4 },
      charges: charges("1", "0.65536"),
    },
    {
      ...common,
      ways: STREAM_WAYS,
      happened: "The client disconnects after the first of two images",
      asked: 2,
      client: "during the body",
      provider: [success, onceClientLeft(success)],
      record: { images: 2 },
      charges: TWO_CHARGES,
    },
    {
      ...common,
      ways: ["OpenAI stream"],
      happened: "Two images of 30 MB",
      isLarge: true,
      asked: 2,
      provider: [huge, huge],
      sees: { status: 200, images: 2 },
      charges: TWO_CHARGES,
    },
    {
      ...twoLinks,
      happened: "Two large images whose links become base64",
      downloads: Array.from({ length: 4 }, () => says("file", ...LARGE)),
      sees: { status: 200, images: 2 },
      charges: TWO_CHARGES,
    },
    {
      ...twoLinks,
      happened: "Two large images whose links become base64, and a download breaks off",
      downloads: Array.from({ length: 4 }, () => stopsAfter("cut", "file", ...LARGE)),
      sees: { status: 200, images: 0, ending: "breaks off" },
      record: { images: 2, errorCode: "upstream_invalid_response" },
      charges: TWO_CHARGES,
    },
    {
      ...twoLinks,
      happened: "Two large images whose links become base64, and the client disconnects during a download",
      client: "during the body",
      downloads: Array.from({ length: 4 }, () => stopsAfter("hang", "file", ...LARGE)),
      record: { images: 2 },
      charges: TWO_CHARGES,
    },
    {
      ...common,
      ways: ["OpenAI stream"],
      happened: "One image, and the connection of the other call breaks inside base64",
      asked: 2,
      provider: [success, stopsAfter("cut", "json", HALF)],
      sees: { status: 200, images: 1, ending: "breaks off" },
      record: { images: 1, errorCode: "upstream_invalid_response" },
      charges: ONE,
    },
    ...closed("release"),
    ...closed("charge"),
    {
      ...common,
      happened: "`n` is above the maximum: nothing is sent",
      asked: 11,
      provider: [],
      sees: { status: 400, code: "invalid_request_error" },
      record: "none",
      charges: NOTHING,
    },
  ],
};
