import { completedEvent, DONE, imageEvent, report, usageOf } from "./making.js";
import { charges, ONE, type RowGroup } from "./row.js";
import { makes, says } from "./script.js";
import { ALL, SEEDREAM_WAYS, STREAMS } from "./ways.js";

const image = { status: 200, images: 1 };

export const ANSWERS: RowGroup = {
  title: "The provider makes what was asked for",
  introduction:
    "The charge is by what the provider reports, whatever was asked for and whatever came; it may be more than was held.",
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
      happened: "Four images where one was asked for",
      ways: ALL,
      provider: [makes({ images: 4, usage: report(4) })],
      sees: { status: 200, images: 4 },
      charges: charges("1", "0.65536"),
    },
    {
      happened: "One image, and a report of three",
      ways: ALL,
      provider: [makes({ images: 1, usage: report(3) })],
      sees: image,
      record: { images: 1, usage: usageOf(3) },
      charges: charges("0.75", "0.49152"),
    },
    {
      happened: "JSON where a stream was asked for",
      ways: STREAMS,
      provider: [says("json", `{"data":[{"url":"https://images.example/0.png"}],"usage":${report(1)}}`)],
      sees: image,
      charges: ONE,
    },
    {
      happened: "A stream where JSON was asked for",
      ways: ["JSON", "native"],
      provider: [says("events", imageEvent(0), completedEvent(report(1)), DONE)],
      sees: image,
      charges: ONE,
    },
    {
      happened: "A picture that cannot be downloaded for `b64_json`: it stays a link",
      ways: ["Qwen-Image"],
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
