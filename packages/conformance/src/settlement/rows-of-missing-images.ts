import type { Usage } from "@calotype/core";
import { completedEvent, DONE, imageEvent, JUNK_COUNTS, report, reportOf, usageOf } from "./making.js";
import {
  type Charges,
  charges,
  errorEventOf,
  NOTHING,
  ONE,
  type Row,
  type RowGroup,
  UNPRICED,
} from "./row.js";
import { makes, says } from "./script.js";
import { QWEN_IMAGE_WAYS, RELAYED, TRANSLATED, V1_JSON, WHOLE } from "./ways.js";

const image = { status: 200, images: 1 };
const noImage = "upstream_no_image";
const sensitive = "OutputImageSensitiveContentDetected";
const EMPTY = [undefined, "null", "[]", "{}", ...JUNK_COUNTS.map(reportOf)];

/** Rows of a batch in which every image failed, with a report that has tokens only. */
function noCount(tokens: number, charged: Charges): readonly Row[] {
  const usage: Usage = { output_tokens: tokens, total_tokens: tokens };
  const row = {
    happened: `All images of the batch failed, and a report that has only ${tokens} tokens`,
    asked: 2,
    provider: [makes({ images: 0, failed: 2, usage: JSON.stringify(usage) })],
    charges: charged,
  };
  const record = { images: 0, errorCode: sensitive, usage };
  return [
    { ...row, ways: ["JSON"], sees: { status: 502, code: sensitive }, record: { images: 0, usage } },
    { ...row, ways: ["native", ...RELAYED], sees: { status: 200, images: 0 }, record },
    { ...row, ways: TRANSLATED, sees: errorEventOf(sensitive), record },
  ];
}

export const NO_IMAGES: RowGroup = {
  title: "The provider reports success without an image",
  introduction:
    "In JSON of `/v1` this is an error. `/api/v3` and native streams relay the response unchanged, and the record has the error. A stream in OpenAI's format gets an `error` event, or an HTTP error if the provider sends JSON. Only what the provider reported is charged: a number of images, or tokens if they are priced.",
  rows: [
    ...EMPTY.flatMap((usage): Row[] => {
      const common = {
        detail: usage === undefined ? "no usage" : `usage: ${usage}`,
        provider: [makes({ images: 0, usage })],
        charges: NOTHING,
      };
      const happened = "No image, and no report that can be used";
      return [
        { ...common, happened, ways: V1_JSON, sees: { status: 502, code: noImage } },
        {
          ...common,
          happened,
          ways: ["native"],
          sees: { status: 200, images: 0 },
          record: { images: 0, errorCode: noImage },
        },
        {
          ...common,
          happened,
          ways: RELAYED,
          sees: { status: 200, images: 0 },
          record: { images: 0, errorCode: noImage },
        },
        { ...common, happened, ways: TRANSLATED, sees: errorEventOf(noImage) },
      ];
    }),
    {
      happened: "No image, and a report of 0",
      ways: V1_JSON,
      provider: [makes({ images: 0, usage: report(0) })],
      sees: { status: 502, code: noImage },
      record: { images: 0, usage: usageOf(0) },
      charges: NOTHING,
    },
    {
      happened: "No image, and a report of one",
      ways: V1_JSON,
      provider: [makes({ images: 0, usage: report(1) })],
      sees: { status: 502, code: noImage },
      record: { images: 0, usage: usageOf(1) },
      charges: ONE,
    },
    {
      happened: "No image, and a report of one",
      ways: ["native"],
      provider: [makes({ images: 0, usage: report(1) })],
      sees: { status: 200, images: 0 },
      record: { images: 0, errorCode: noImage, usage: usageOf(1) },
      charges: ONE,
    },
    {
      happened: "No image, and a report of one",
      ways: RELAYED,
      provider: [makes({ images: 0, usage: report(1) })],
      sees: { status: 200, images: 0 },
      record: { images: 0, errorCode: noImage, usage: usageOf(1) },
      charges: ONE,
    },
    {
      happened: "No image, and a report of one",
      ways: TRANSLATED,
      provider: [makes({ images: 0, usage: report(1) })],
      sees: errorEventOf(noImage),
      record: { images: 0, usage: usageOf(1) },
      charges: ONE,
    },
    ...noCount(0, NOTHING),
    ...noCount(16_384, charges("0", "0.16384")),
    {
      happened: "All images of the batch failed",
      ways: ["JSON"],
      asked: 2,
      provider: [makes({ images: 0, failed: 2, usage: report(0) })],
      sees: { status: 502, code: sensitive },
      record: { images: 0, usage: usageOf(0) },
      charges: NOTHING,
    },
    {
      happened: "All images of the batch failed",
      ways: RELAYED,
      asked: 2,
      provider: [makes({ images: 0, failed: 2, usage: report(0) })],
      sees: { status: 200, images: 0 },
      record: { images: 0, errorCode: sensitive, usage: usageOf(0) },
      charges: NOTHING,
    },
    {
      happened: "All images of the batch failed",
      ways: TRANSLATED,
      asked: 2,
      provider: [makes({ images: 0, failed: 2, usage: report(0) })],
      sees: errorEventOf(sensitive),
      record: { images: 0, usage: usageOf(0) },
      charges: NOTHING,
    },
    {
      happened: "An error in the response, and no report",
      ways: V1_JSON,
      provider: [makes({ images: 0, error: "Broken" })],
      sees: { status: 502, code: "Broken" },
      charges: NOTHING,
    },
    {
      happened: "An error in the response, and no report",
      ways: ["native"],
      provider: [makes({ images: 0, error: "Broken" })],
      sees: { status: 200, images: 0 },
      record: { images: 0, errorCode: "Broken" },
      charges: NOTHING,
    },
    {
      happened: "An error beside an image, and no report",
      ways: V1_JSON,
      provider: [makes({ images: 1, error: "Broken" })],
      sees: { status: 502, code: "Broken" },
      charges: NOTHING,
    },
    {
      happened: "An error beside an image, and no report",
      ways: ["native"],
      provider: [makes({ images: 1, error: "Broken" })],
      sees: image,
      record: { images: 1, errorCode: "Broken", usage: "none" },
      charges: charges("0.25", UNPRICED),
    },
    {
      happened: "A `code` of `Success` beside an image",
      ways: QWEN_IMAGE_WAYS,
      provider: [makes({ images: 1, error: "Success", usage: report(1) })],
      sees: image,
      charges: ONE,
    },
    {
      happened: "An error beside an image, and a report of one",
      ways: V1_JSON,
      provider: [makes({ images: 1, error: "Broken", usage: report(1) })],
      sees: { status: 502, code: "Broken" },
      record: { images: 0, usage: usageOf(1) },
      charges: ONE,
    },
    ...["", "  ", "[]", "null", "<html></html>", "{", '{"data":NaN}', "{}{}"].map(
      (text): Row => ({
        happened: "An empty body, or a body that is not a JSON object",
        detail: text,
        ways: [...WHOLE, "Qwen-Image stream"],
        provider: [says("json", text)],
        sees: { status: 502, code: "upstream_invalid_response" },
        repeat: "stored",
        charges: NOTHING,
      }),
    ),
    {
      happened: "A stream although the family has no streams",
      ways: QWEN_IMAGE_WAYS,
      provider: [says("events", imageEvent(0), completedEvent(report(1)), DONE)],
      sees: { status: 502, code: "upstream_invalid_response" },
      repeat: "stored",
      charges: NOTHING,
    },
  ],
};
