import { describe, expect, it } from "vitest";
import type { StreamResult } from "../response-shape.js";
import { readSeedreamStream } from "./stream.js";

type Event = readonly [event: string | undefined, data: unknown];

function read(...events: readonly Event[]): StreamResult {
  return readSized(undefined, ...events);
}

/** Reads the events of a request for images of this size. */
function readSized(size: unknown, ...events: readonly Event[]): StreamResult {
  const reader = readSeedreamStream({ upstreamFields: { size } });
  for (const [event, data] of events) {
    reader.read({ event, data: typeof data === "string" ? data : JSON.stringify(data) });
  }
  return reader.result();
}

let nextIndex = 0;

const succeeded = (size?: unknown, index: unknown = nextIndex++): Event => [
  "image_generation.partial_succeeded",
  {
    type: "image_generation.partial_succeeded",
    model: "m",
    created: 1,
    image_index: index,
    url: "https://x",
    size,
  },
];
const failed: Event = [
  "image_generation.partial_failed",
  { type: "image_generation.partial_failed", image_index: 1, error: { code: "Sensitive", message: "No." } },
];
const completed = (usage?: unknown): Event => [
  "image_generation.completed",
  { type: "image_generation.completed", model: "m", created: 1, usage },
];

describe("the usage of a stream", () => {
  const all = { generated_images: 2, output_tokens: 300, total_tokens: 400 };

  it.each<[string, readonly Event[], Partial<StreamResult>]>([
    ["nothing at all", [], { images: 0, usage: undefined }],
    ["completed", [succeeded("1x1"), completed(all)], { images: 1, usage: all }],
    ["an image event whose data is not JSON", [["image_generation.partial_succeeded", "{"]], { images: 0 }],
    ["an image event whose data is a list", [["image_generation.partial_succeeded", []]], { images: 0 }],
    ["the end mark", [[undefined, "[DONE]"]], { images: 0, usage: undefined, failure: undefined }],
    ["completed alone", [completed(all)], { images: 0, usage: all }],
    ["completed with 0 images", [completed({ generated_images: 0 })], { usage: { generated_images: 0 } }],
    ["completed without usage", [succeeded("16x16"), completed()], { images: 1, usage: {} }],
    ["completed with usage null", [succeeded("16x16"), completed(null)], { images: 1, usage: {} }],
    [
      "completed without generated_images",
      [succeeded("16x16"), completed({ output_tokens: 7 })],
      { images: 1, usage: { output_tokens: 7 } },
    ],
    [
      "completed with junk for counts",
      [completed({ generated_images: "2", output_tokens: -1, total_tokens: 1.5 })],
      { usage: {} },
    ],
    [
      "two completed: the last counts, not their sum",
      [completed({ generated_images: 9 }), completed({ generated_images: 2 })],
      { usage: { generated_images: 2 } },
    ],
    [
      "a second completed without counts takes nothing back",
      [completed(all), completed(), completed({ generated_images: "junk" })],
      { usage: all },
    ],
    [
      "an image after completed",
      [completed({ generated_images: 1 }), succeeded("16x16")],
      { images: 1, usage: { generated_images: 1 } },
    ],
    [
      "no completed: the images that came, and tokens from their sizes",
      [succeeded("2048x2048"), succeeded("16x17")],
      { images: 2, usage: { generated_images: 2, output_tokens: 16_385, total_tokens: 16_385 } },
    ],
    [
      "no completed: tokens are rounded once, for all images together",
      [succeeded("10x20"), succeeded("10x20")],
      { usage: { generated_images: 2, output_tokens: 1, total_tokens: 1 } },
    ],
    ["no completed and no size", [succeeded()], { images: 1, usage: { generated_images: 1 } }],
    ["no completed and junk sizes", [succeeded("2K"), succeeded(5)], { usage: { generated_images: 2 } }],
    [
      "failed images only",
      [failed],
      {
        images: 0,
        usage: undefined,
        failure: undefined,
        errors: [{ index: 1, code: "Sensitive", message: "No." }],
      },
    ],
    [
      "an image that is reported twice: it counts once, with its last size",
      [succeeded("16x16", 0), succeeded("32x16", 0), succeeded("16x16", 1)],
      { images: 2, usage: { generated_images: 2, output_tokens: 3, total_tokens: 3 } },
    ],
    [
      "images without an index: each counts",
      [succeeded("16x16", null), succeeded("16x16", "0"), succeeded("16x16", 0)],
      { images: 3 },
    ],
    [
      "an image reported twice, and completed",
      [succeeded("16x16", 0), succeeded("16x16", 0), completed({ output_tokens: 1 })],
      { images: 1, usage: { output_tokens: 1 } },
    ],
    ["an image and a failed one", [succeeded("16x16"), failed], { images: 1, failure: undefined }],
    [
      "[DONE] and texts",
      [
        [undefined, "[DONE]"],
        ["x", "hello"],
        ["y", ""],
      ],
      { images: 0, usage: undefined },
    ],
    [
      "data that is not an object",
      [
        [undefined, "[1]"],
        [undefined, "null"],
        [undefined, "5"],
      ],
      { usage: undefined },
    ],
    [
      "an event without a type in its data",
      [["image_generation.partial_succeeded", { size: "16x16" }]],
      { images: 1, usage: { generated_images: 1, output_tokens: 1, total_tokens: 1 } },
    ],
    [
      "data whose event has no name",
      [[undefined, { type: "image_generation.completed", usage: all }]],
      { usage: all },
    ],
    [
      "an event that is not known",
      [["image_generation.partial_image", { usage: all }]],
      { usage: undefined },
    ],
  ])("%s", (_what, events, expected) => {
    expect(read(...events)).toMatchObject(expected);
  });
});

const tokens = (images: number, count: number): object => ({
  generated_images: images,
  output_tokens: count,
  total_tokens: count,
});

const failedAt = (index: unknown, code: unknown): Event => [
  "image_generation.partial_failed",
  { image_index: index, error: { code, message: "No." } },
];

describe("the failed images of a stream", () => {
  it.each<[string, readonly Event[], StreamResult["errors"]]>([
    ["none", [succeeded("16x16")], []],
    [
      "each with its index",
      [failedAt(2, "B"), succeeded("16x16", 1), failedAt(0, "A")],
      [
        { index: 2, code: "B", message: "No." },
        { index: 0, code: "A", message: "No." },
      ],
    ],
    [
      "one that is reported twice counts once",
      [failedAt(2, "A"), failedAt(2, "B")],
      [{ index: 2, code: "A", message: "No." }],
    ],
    [
      "one without an index comes after those before it",
      [succeeded("16x16", 0), failedAt(undefined, "A"), failedAt("1", "B")],
      [
        { index: 1, code: "A", message: "No." },
        { index: 2, code: "B", message: "No." },
      ],
    ],
    [
      "one without a reason",
      [["image_generation.partial_failed", { image_index: 0 }]],
      [
        {
          index: 0,
          code: "upstream_no_image",
          message: "The provider made no image and gave no reason.",
        },
      ],
    ],
  ])("%s", (_what, events, errors) => {
    expect(read(...events).errors).toEqual(errors);
  });

  it("cannot fill the memory", () => {
    const events = Array.from({ length: 5_000 }, (_, index) => failedAt(index, "A"));
    expect(read(...events).errors).toHaveLength(1_000);
  });
});

describe("images without a size, when `completed` never comes", () => {
  it.each<[string, unknown, readonly Event[], Partial<StreamResult>]>([
    ["the requested pixels", "1024x1024", [succeeded()], { usage: tokens(1, 4096), hasUnknownTokens: false }],
    ["the largest image of the preset", "2k", [succeeded("")], { usage: tokens(1, 17_800) }],
    [
      "their own size where one has it",
      "1024x1024",
      [succeeded("16x16"), succeeded()],
      { usage: tokens(2, 4097), hasUnknownTokens: false },
    ],
    [
      "no tokens if no size was requested",
      undefined,
      [succeeded("16x16"), succeeded()],
      { usage: tokens(2, 1), hasUnknownTokens: true },
    ],
    ["no tokens for an unknown preset", "9K", [succeeded()], { hasUnknownTokens: true }],
    ["no tokens for a size that is not a string", 5, [succeeded()], { hasUnknownTokens: true }],
  ])("count with %s", (_what, size, events, expected) => {
    expect(readSized(size, ...events)).toMatchObject(expected);
  });

  it("do not matter once `completed` has reported", () => {
    expect(read(succeeded(), completed({ output_tokens: 1 })).hasUnknownTokens).toBeUndefined();
  });

  it("cannot fill the memory", () => {
    const events = Array.from({ length: 5_000 }, () => succeeded("16x16"));
    expect(read(...events).images).toBe(1_000);
  });
});

describe("the failure of a stream", () => {
  it.each<[string, Event, StreamResult["failure"]]>([
    [
      "an error event",
      ["error", { error: { code: "Internal", message: "No." } }],
      { code: "Internal", message: "No." },
    ],
    [
      "an error without a name",
      [undefined, { error: { code: "Internal", message: "No." } }],
      { code: "Internal", message: "No." },
    ],
    [
      "a code beside the type",
      ["error", { type: "error", code: "Internal", message: "No." }],
      { code: "Internal", message: "No." },
    ],
    ["an error that is a text", ["error", { error: "No." }], { code: "upstream_error", message: "No." }],
    [
      "an error of a type of its own",
      ["error", { type: "image_generation.failed", error: { code: "X" } }],
      { code: "X", message: "The provider failed." },
    ],
    ["a text", ["error", "boom"], { code: "upstream_error", message: "The provider failed." }],
    ["nothing", ["error", ""], { code: "upstream_error", message: "The provider failed." }],
    ["a null beside an unknown event", ["x", { error: null }], undefined],
    ["an image that failed", failed, undefined],
  ])("%s", (_what, event, failure) => {
    const found = read(event).failure;
    expect(found && { code: found.code, message: found.message }).toEqual(failure);
  });
});

describe("the kind of a stream's failure", () => {
  it.each([
    ["AuthenticationError", "credential", undefined],
    ["ModelAccountRpmRateLimitExceeded", "rate", "model"],
    ["ServerOverloaded", "overload", undefined],
    ["OutputImageSensitiveContentDetected", "content", undefined],
  ])("%s is %s", (code, kind, scope) => {
    expect(read(["error", { error: { code, message: "No." } }]).failure).toMatchObject({ code, kind, scope });
  });
});
