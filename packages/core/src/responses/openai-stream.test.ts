import { describe, expect, it } from "vitest";
import { SEEDREAM_EVENTS } from "../families/seedream/stream.js";
import { cutBytes, cutEvery } from "../testing/cut-bytes.js";
import { NOT_STATED } from "../testing/openai-event.js";
import { OpenAiEvents } from "./openai-events.js";
import { OpenAiTranslation } from "./openai-stream.js";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const CREATED = 1_763_683_200;

interface Translated {
  readonly text: string;
  /** The parsed data of each event, in order. */
  readonly events: readonly (readonly [name: string | undefined, data: unknown])[];
}

/** Translates a stream that arrives in these chunks. It has room for `maxImages` and no usage. */
function translate(chunks: readonly Uint8Array[], maxImages = 4): Translated {
  const translation = new OpenAiTranslation({
    shape: SEEDREAM_EVENTS,
    events: new OpenAiEvents("generate", 1_800_000_000),
    maxImages,
    reader: {
      isOver: () => false,
      summary: () => ({ usage: undefined, errors: [] }),
      noImageError: () => ({ error: { message: "No image.", type: "t", code: "c", param: null } }),
      toEnvelope: () => ({ error: { message: "It broke.", type: "t", code: "c", param: null } }),
    },
  });
  const pieces = chunks.flatMap((chunk) => pushNow(translation, chunk));
  const text = [...pieces, ...translation.end()].map((piece) => decoder.decode(piece)).join("");
  return { text, events: parseEvents(text) };
}

/** Without a delivery of images, the bytes are known at once. */
function pushNow(translation: OpenAiTranslation, chunk: Uint8Array): readonly Uint8Array[] {
  const sent = translation.push(chunk);
  if (sent instanceof Promise) throw new TypeError("The bytes are not known at once.");
  return sent;
}

function parseEvents(text: string): Translated["events"] {
  return text
    .split("\n\n")
    .filter((event) => event !== "")
    .map((event) => {
      const name = /^event: (.*)$/m.exec(event)?.[1];
      const data = /^data: (.*)$/m.exec(event)?.[1] ?? "";
      return [name, data === "[DONE]" ? data : JSON.parse(data)] as const;
    });
}

const COMPLETED = "image_generation.completed";
const image = (members: object): string =>
  JSON.stringify({
    type: "image_generation.partial_succeeded",
    model: "ep-canary",
    created: CREATED,
    image_index: 0,
    ...members,
  });
const toEvent = (data: string, name: string | undefined = "image_generation.partial_succeeded"): string =>
  `event: ${name}\ndata: ${data}\n\n`;
const expected = (members: object): readonly [string, object] => [
  COMPLETED,
  { ...NOT_STATED, type: COMPLETED, created_at: CREATED, ...members },
];
const LINK = { url: "https://ark.test/1.png", size: "2048x2048" };
const LONG = `/9j/${"A".repeat(40_000)}`;
const DONE = [undefined, "[DONE]"];

describe("the translation of a stream", () => {
  it.each<[string, string, readonly unknown[]]>([
    ["a link", toEvent(image(LINK)), [expected(LINK), DONE]],
    [
      "two images",
      toEvent(image(LINK)) + toEvent(image({ b64_json: "iVBORw0KGgoAAAA=", size: "1x1" })),
      [expected(LINK), expected({ b64_json: "iVBORw0KGgoAAAA=", size: "1x1", output_format: "png" }), DONE],
    ],
    [
      "long base64 before the other members",
      toEvent(image({ b64_json: LONG, size: "2048x2048" })),
      [expected({ b64_json: LONG, size: "2048x2048", output_format: "jpeg" }), DONE],
    ],
    [
      "long base64 after the other members, with a format of its own",
      toEvent(image({ size: "2048x2048", output_format: "png", b64_json: LONG })),
      [expected({ size: "2048x2048", output_format: "png", b64_json: LONG }), DONE],
    ],
    [
      "a type that comes after the long base64",
      toEvent(`{"b64_json":"${LONG}","created":${CREATED},"type":"image_generation.partial_succeeded"}`),
      [expected({ created_at: 1_800_000_000, b64_json: LONG, output_format: "jpeg" }), DONE],
    ],
    ["an event without a name", `data: ${image(LINK)}\n\n`, [expected(LINK), DONE]],
    [
      "an event without a type",
      toEvent(JSON.stringify({ created: CREATED, ...LINK })),
      [expected(LINK), DONE],
    ],
    [
      "an event without a type, with a field between its name and its data",
      toEvent(JSON.stringify({ created: CREATED, ...LINK })).replace("data: ", "id: 7\ndata: "),
      [expected(LINK), DONE],
    ],
    ["no space after the colon", toEvent(image(LINK)).replace("data: ", "data:"), [expected(LINK), DONE]],
    [
      "comments and other fields",
      `: hello\n\nid: 7\nretry: 5\n${toEvent(image(LINK))}`,
      [expected(LINK), DONE],
    ],
    ["a byte order mark", `\uFEFFdata: ${image(LINK)}\n\n`, [expected(LINK), DONE]],
    [
      "data of several lines",
      `event: image_generation.partial_succeeded\ndata: {"created":${CREATED},\ndata: "url":"x"}\n\n`,
      [expected({ url: "x" }), DONE],
    ],
    [
      "an unknown event with long base64",
      toEvent(`{"type":"image_generation.partial_image","b64_json":"${LONG}"}`, "x") + toEvent(image(LINK)),
      [expected(LINK), DONE],
    ],
    [
      "failed images, usage, [DONE] and data that is not JSON",
      `${toEvent('{"type":"image_generation.partial_failed","error":{}}', "image_generation.partial_failed")}data: [DONE]\n\ndata: {"x\n\n${toEvent(image(LINK))}`,
      [expected(LINK), DONE],
    ],
    [
      "an event of an image without an image",
      toEvent(image({ url: "", size: "1x1" })) + toEvent(image(LINK)),
      [expected(LINK), DONE],
    ],
    [
      "characters outside of ASCII, and a key such as __proto__",
      toEvent(image({ ...LINK, revised_prompt: "图 – 😀" }).replace('"size"', '"__proto__":{"a":1},"size"')),
      [
        expected(
          JSON.parse(
            `{"url":"${LINK.url}","__proto__":{"a":1},"size":"2048x2048","revised_prompt":"图 – 😀"}`,
          ),
        ),
        DONE,
      ],
    ],
    [
      "no image",
      "data: [DONE]\n\n",
      [["error", { error: expect.objectContaining({ message: "No image." }) }]],
    ],
  ])("of %s, however it is split", (_what, stream, events) => {
    const bytes = encoder.encode(stream);
    const whole = translate([bytes]);
    expect(whole.events).toEqual(events);
    expect(whole.text).not.toContain("ep-canary");
    const places =
      bytes.length < 2_000 ? Array.from(bytes, (_, index) => index) : [1, 60, 200, 5_000, 39_999];
    for (const place of places) expect(translate(cutBytes(bytes, [place])).text).toBe(whole.text);
    for (const crlf of ["\r\n", "\r"]) {
      const other = encoder.encode(stream.replaceAll("\n", crlf));
      expect(translate(cutEvery(other, 7)).events).toEqual(events);
    }
  });

  it("passes long base64 on in the chunks in which it arrives", () => {
    const bytes = encoder.encode(toEvent(image({ b64_json: `iVBORw0KGgo${"A".repeat(1_000_000)}` })));
    const chunks = cutEvery(bytes, 64 * 1024);
    const { text } = translate(chunks);
    expect(text.length).toBeLessThan(bytes.length + 300);
    const translation = new OpenAiTranslation({
      shape: SEEDREAM_EVENTS,
      events: new OpenAiEvents("edit", 0),
      maxImages: 1,
      reader: {
        isOver: () => false,
        summary: () => ({ usage: undefined, errors: [] }),
        noImageError: () => ({ error: { message: "", type: "", code: "", param: null } }),
        toEnvelope: () => ({ error: { message: "", type: "", code: "", param: null } }),
      },
    });
    const passed = chunks.map((chunk) => pushNow(translation, chunk));
    // The chunks in the middle are the same objects, so nothing is copied or held.
    expect(chunks.slice(1, -1).every((chunk, at) => passed[at + 1]?.[0] === chunk)).toBe(true);
    expect(translation.beat().map((piece) => decoder.decode(piece))).toEqual([" "]);
  });

  it("is broken if an image has begun and its event is not JSON", () => {
    const bytes = encoder.encode(`data: {"b64_json":"${LONG}\n\n`);
    expect(() => translate([bytes])).toThrow(TypeError);
  });

  it("keeps only the event of the last possible image open", () => {
    const one = encoder.encode(toEvent(image(LINK)));
    const afterOne = (maxImages: number): string => {
      const events = new OpenAiEvents("edit", 0);
      const translation = new OpenAiTranslation({
        shape: SEEDREAM_EVENTS,
        events,
        maxImages,
        reader: {
          isOver: () => false,
          summary: () => ({ usage: { output_tokens: 1, total_tokens: 3 }, errors: [] }),
          noImageError: () => ({ error: { message: "", type: "", code: "", param: null } }),
          toEnvelope: () => ({ error: { message: "", type: "", code: "", param: null } }),
        },
      });
      const sent = pushNow(translation, one)
        .map((piece) => decoder.decode(piece))
        .join("");
      const end = translation
        .end()
        .map((piece) => decoder.decode(piece))
        .join("");
      return `${sent}|${end}`;
    };
    const usage =
      '"usage":{"output_tokens":1,"total_tokens":3,"input_tokens":2,"input_tokens_details":{"text_tokens":2,"image_tokens":0}}';
    expect(afterOne(1)).toMatch(/"background":"auto"\|,"usage"/);
    expect(afterOne(1)).toContain(`,${usage}}\n\ndata: [DONE]\n\n`);
    expect(afterOne(2)).toContain(
      `}\n\n|event: image_edit.usage\ndata: {"type":"image_edit.usage","created_at":0,${usage}}\n\ndata: [DONE]\n\n`,
    );
  });
});
