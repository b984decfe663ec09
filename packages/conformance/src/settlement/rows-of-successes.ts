import { completedEvent, DONE, imageEvent, report, usageOf } from "./making.js";
import { charges, ONE, type Row, type RowGroup } from "./row.js";
import { makes, says } from "./script.js";
import { ALL, QWEN_IMAGE_WAYS, SEEDREAM_WAYS, STREAMS } from "./ways.js";

const image = { status: 200, images: 1 };

export const SUCCESSES: RowGroup = {
  title: "The provider makes the requested images",
  introduction:
    "The charge follows what the provider reports. A report of more than the request could make is cut to the request's maximum, or to the images in the response if there are more. The record then has `reportedUsage`, and the log has an error. So a charge is above its hold only if the response has more images than the request asked for.",
  rows: [
    {
      happened: "One image",
      ways: ALL,
      provider: [makes({ images: 1, usage: report(1) })],
      sees: image,
      charges: ONE,
    },
    {
      happened: "Four of four images",
      ways: ALL,
      asked: 4,
      provider: [makes({ images: 4, usage: report(4) })],
      sees: { status: 200, images: 4 },
      charges: charges("1", "0.65536"),
    },
    {
      happened: "Three of four images, and a failed one",
      ways: SEEDREAM_WAYS,
      asked: 4,
      provider: [makes({ images: 3, failed: 1, usage: report(3) })],
      sees: { status: 200, images: 3 },
      charges: charges("0.75", "0.49152"),
    },
    {
      happened: "Four images although one was requested",
      ways: ALL,
      provider: [makes({ images: 4, usage: report(4) })],
      sees: { status: 200, images: 4 },
      charges: charges("1", "0.65536"),
    },
    {
      happened: "One image although four were requested, and a report of three",
      ways: ALL,
      asked: 4,
      provider: [makes({ images: 1, usage: report(3) })],
      sees: image,
      record: { images: 1, usage: usageOf(3) },
      charges: charges("0.75", "0.49152"),
    },
    ...[3, 1_000_000].map(
      (reported): Row => ({
        happened: "One image as requested, and a report of more",
        detail: String(reported),
        ways: ALL,
        provider: [makes({ images: 1, usage: report(reported) })],
        sees: image,
        record: { images: 1, usage: usageOf(1), reportedUsage: usageOf(reported) },
        charges: ONE,
      }),
    ),
    {
      happened: "Two images although one was requested, and a report of more",
      ways: ALL,
      provider: [makes({ images: 2, usage: report(9) })],
      sees: { status: 200, images: 2 },
      record: { images: 2, usage: usageOf(2), reportedUsage: usageOf(9) },
      charges: charges("0.5", "0.32768"),
    },
    {
      happened: "One image, and a report of ten times its tokens",
      ways: SEEDREAM_WAYS,
      provider: [makes({ images: 1, usage: report(1, 10) })],
      sees: image,
      record: { images: 1, usage: usageOf(1), reportedUsage: usageOf(1, 10) },
      charges: ONE,
    },
    {
      happened: "JSON although a stream was requested",
      ways: STREAMS,
      provider: [says("json", `{"data":[{"url":"https://images.example/0.png"}],"usage":${report(1)}}`)],
      sees: image,
      charges: ONE,
    },
    {
      happened: "A stream although JSON was requested",
      ways: ["JSON", "native"],
      provider: [says("events", imageEvent(0), completedEvent(report(1)), DONE)],
      sees: image,
      charges: ONE,
    },
    {
      happened: "An image that cannot be downloaded for `b64_json`: it stays a link",
      ways: QWEN_IMAGE_WAYS,
      fields: { response_format: "b64_json" },
      provider: [
        says(
          "json",
          `{"output":{"choices":[{"message":{"content":[{"image":"https://127.0.0.1:9/0.png"}]}}]},"usage":{"image_count":1}}`,
        ),
      ],
      sees: image,
      charges: ONE,
    },
  ],
};
