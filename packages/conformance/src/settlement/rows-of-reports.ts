import { JUNK_COUNTS, report, reportOf, usageOf } from "./making.js";
import { charges, NOTHING, ONE, type Row, type RowGroup, UNPRICED } from "./row.js";
import { makes } from "./script.js";
import { ALL, SEEDREAM_WAYS } from "./ways.js";

const image = { status: 200, images: 1 };

/** Values in the place of a report. */
const NO_REPORTS = [undefined, "null", "4", '"4"', "[]", "[4]", "{}"];

export const REPORTS: RowGroup = {
  title: "The report is missing or cannot be used",
  introduction:
    "An image came. A count that is not a whole number of at least 0 is treated as missing. If the number of images is missing, one image is charged. If the number of tokens is missing, nothing can be charged by token: the record is marked `unpriced` and the log has a warning.",
  rows: [
    ...NO_REPORTS.map(
      (usage): Row => ({
        happened: "Two images, and no report",
        detail: usage === undefined ? "no usage" : `usage: ${usage}`,
        ways: ALL,
        asked: 2,
        provider: [makes({ images: 2, usage })],
        sees: { status: 200, images: 2 },
        record: { images: 2, usage: "none" },
        charges: charges("0.25", UNPRICED),
      }),
    ),
    ...JUNK_COUNTS.map(
      (count): Row => ({
        happened:
          "Two images, and a report in which every count is a string, a negative number, a fraction, too large, a list, …",
        detail: count,
        ways: ALL,
        asked: 2,
        provider: [makes({ images: 2, usage: reportOf(count) })],
        sees: { status: 200, images: 2 },
        record: { images: 2, usage: "none" },
        charges: charges("0.25", UNPRICED),
      }),
    ),
    ...["", '"generated_images":"4",'].map(
      (count): Row => ({
        happened: "Two images, and a report of tokens only",
        detail: count,
        ways: SEEDREAM_WAYS,
        asked: 2,
        provider: [makes({ images: 2, usage: `{${count}"output_tokens":32768,"total_tokens":32768}` })],
        sees: { status: 200, images: 2 },
        record: { images: 2, usage: { output_tokens: 32_768, total_tokens: 32_768 } },
        charges: charges("0.25", "0.32768"),
      }),
    ),
    {
      happened: "An image, and a report of `total_tokens` only",
      ways: SEEDREAM_WAYS,
      provider: [makes({ images: 1, usage: '{"total_tokens":16384}' })],
      sees: image,
      record: { images: 1, usage: { total_tokens: 16_384 } },
      charges: ONE,
    },
    {
      happened: "An image, and a report of images only",
      ways: ALL,
      provider: [makes({ images: 1, usage: '{"generated_images":1}' })],
      sees: image,
      record: { images: 1, usage: { generated_images: 1 } },
      charges: charges("0.25", UNPRICED),
    },
    {
      happened: "An image, and a report of 0 images and 0 tokens",
      ways: ALL,
      provider: [makes({ images: 1, usage: report(0) })],
      sees: image,
      record: { images: 1, usage: usageOf(0) },
      charges: NOTHING,
    },
    {
      happened: "An image, and a report of 0 images with tokens",
      ways: ALL,
      provider: [makes({ images: 1, usage: report(0, 1) })],
      sees: image,
      record: { images: 1, usage: usageOf(0, 1) },
      charges: charges("0", "0.16384"),
    },
  ],
};
