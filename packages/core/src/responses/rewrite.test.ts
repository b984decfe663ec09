import {
  type Arbitrary,
  array,
  assert,
  constant,
  constantFrom,
  integer,
  oneof,
  property,
  tuple,
} from "fast-check";
import { describe, expect, it } from "vitest";
import { SEEDREAM_RESPONSE } from "../families/seedream/response.js";
import { seedream } from "../families/seedream/seedream.js";
import { anyJsonText, anyObjectText, anyStringText } from "../testing/any-json-text.js";
import { cutBytes, cutEvery } from "../testing/cut-bytes.js";
import { endedSource } from "../testing/scripted-source.js";
import type { ImageRequest } from "../types.js";
import { EventLayout, type ImageLayout, JsonLayout, writePart } from "./image-parts.js";
import { WholeReader } from "./json-reader.js";
import { OpenAiEvents } from "./openai-events.js";
import type { ResponseFacts } from "./response-facts.js";
import { ResponseRewriter, type RewriteOptions } from "./rewrite.js";

const MODEL = 'service "model"';
const NOW = 1_763_683_200;
const MIB = 1024 * 1024;
const encoder = new TextEncoder();

const REQUEST: ImageRequest = {
  operation: "generate",
  model: MODEL,
  prompt: "",
  images: [],
  maxImages: 15,
  responseFormat: "b64_json",
  stream: false,
  upstreamFields: {},
  ignored: [],
};

function createRewriter(options: RewriterOptions = {}): ResponseRewriter {
  return new ResponseRewriter({ shape: SEEDREAM_RESPONSE, model: MODEL, now: NOW, ...options });
}

type RewriterOptions = Partial<
  Pick<RewriteOptions, "isNative" | "maxHeldBytes" | "convertsLinks" | "opensImages">
>;

interface Rewritten extends Pick<ResponseRewriter, "facts"> {
  readonly text: string;
  readonly status: ReturnType<ResponseRewriter["status"]>;
}

function rewrite(chunks: readonly Uint8Array[], options: RewriterOptions = {}): Rewritten {
  const rewriter = createRewriter(options);
  const sent: Uint8Array[] = [];
  const send = (pieces: ReturnType<ResponseRewriter["push"]>): void =>
    void sent.push(...bytesOf(pieces).map((piece) => piece.slice()));
  for (const chunk of chunks) {
    const own = chunk.slice();
    send(rewriter.push(own));
    // The client may take its memory away.
    own.fill(0x21);
  }
  send(rewriter.end());
  return {
    text: Buffer.concat(sent).toString(),
    facts: copyFacts(rewriter.facts),
    status: rewriter.status(),
  };
}

/**
 * The pieces as bytes. A link shows its place in the batch and its URL.
 *
 * @param layout how images that are handed over are written. Default: none may be handed over.
 */
function bytesOf(pieces: ReturnType<ResponseRewriter["push"]>, layout?: ImageLayout): readonly Uint8Array[] {
  return pieces.map((piece) => {
    if (piece instanceof Uint8Array) return piece;
    if (piece.kind === "image" && piece.isBegun === true) {
      return encoder.encode(JSON.stringify({ [piece.index]: piece.image.url }));
    }
    if (layout === undefined) throw new TypeError("No images are handed over.");
    const written = writePart(piece, layout);
    return typeof written === "string" ? encoder.encode(written) : written;
  });
}

const rewriteText = (text: string, options = {}): Rewritten => rewrite([encoder.encode(text)], options);

/** The facts as an object of their own, to be compared. */
function copyFacts(facts: ResponseFacts): ResponseFacts {
  const { images, made, errors, failure, usage, report, upstreamRequestId } = facts;
  return { images, made, errors, failure, usage, report, upstreamRequestId };
}

/** The response as the reader of whole responses makes it, or `undefined` if it is an error. */
function renderPlainly(text: string): { facts: object; body: unknown } {
  const reader = new WholeReader(seedream, REQUEST, {
    response: { status: 200, headers: new Headers(), body: endedSource().body, cancel: () => {} },
    now: NOW,
    isNative: false,
    opensImages: false,
    convertsLinks: false,
    redact: String,
  });
  reader.push(encoder.encode(text));
  const pieces = [...reader.complete(), ...reader.end([])];
  const body = pieces.map((piece) => (typeof piece === "string" ? piece : "")).join("");
  const { facts } = reader;
  const isResponse = facts.images > 0 && facts.failure === undefined;
  return { facts: copyFacts(facts), body: isResponse ? JSON.parse(body) : undefined };
}

/** Rounded like JSON.stringify, so that the results can be compared. */
const normalize = (text: string): unknown => JSON.parse(JSON.stringify(JSON.parse(text)));

/** Values stay below this, except for images: a larger value is not read. */
const HELD = 400;
const small = (text: Arbitrary<string>): Arbitrary<string> =>
  text.filter((value) => Buffer.byteLength(value) <= HELD);
const imageText = oneof(
  integer({ min: 0, max: 40 }),
  integer({ min: HELD - 60, max: HELD + 60 }),
  constant(5_000),
).map((length) => `"${"AB/+".repeat(2_000).slice(0, length)}"`);
const image = anyObjectText(
  oneof(
    tuple(constantFrom('"b64_json"', '"b64\\u005fjson"'), imageText),
    tuple(constant('"url"'), oneof(anyStringText, constant('"https://ark.test/1.png"'))),
    tuple(oneof(constantFrom('"size"', '"data"', '"error"'), anyStringText), anyJsonText),
  ),
).filter((text) => {
  const isLarge = Buffer.byteLength(text) > HELD;
  return !isLarge || seedream.fromUpstream({ data: [JSON.parse(text)] }, REQUEST).images.length === 1;
});
const failure = anyObjectText(
  oneof(
    tuple(constant('"code"'), anyStringText),
    tuple(constant('"message"'), anyStringText),
    tuple(anyStringText, anyJsonText),
  ),
);
const failed = small(failure.map((error) => `{"error":${error}}`));
const items = array(oneof({ weight: 3, arbitrary: image }, failed, small(anyJsonText)), { maxLength: 6 }).map(
  (all) => `[${all.join(" , ")}]`,
);
const usage = anyObjectText(
  tuple(constantFrom('"generated_images"', '"output_tokens"', '"total_tokens"', '"tool_usage"'), anyJsonText),
);
const created = constantFrom(
  "1763683200",
  "1.7e9",
  "0",
  "-1",
  "1.5",
  '"now"',
  "null",
  "[1]",
  "9007199254740993",
);
const member = oneof(
  { weight: 6, arbitrary: tuple(constantFrom('"data"', '"d\\u0061ta"'), items) },
  { weight: 2, arbitrary: tuple(constant('"usage"'), small(oneof(usage, anyJsonText))) },
  { weight: 2, arbitrary: tuple(constant('"created"'), created) },
  { weight: 2, arbitrary: tuple(constant('"model"'), oneof(anyStringText, anyJsonText)) },
  {
    weight: 1,
    arbitrary: tuple(constant('"error"'), small(oneof(failure, constantFrom("null", "5", '"x"')))),
  },
  { weight: 1, arbitrary: tuple(constantFrom('"data"', '"extra"', '"tools"'), anyJsonText) },
  { weight: 2, arbitrary: tuple(small(anyStringText), anyJsonText) },
);
const response = anyObjectText(member);
const places = array(integer({ min: 0, max: 8_000 }), { maxLength: 12 });

describe("a response that is rewritten while it arrives", () => {
  it("is the same as one that is made from the complete response, with the same facts", () => {
    let responses = 0;
    assert(
      property(response, places, (text, cuts) => {
        const bytes = encoder.encode(text);
        const { facts, body } = renderPlainly(text);
        // Byte by byte only if the list does not become too long.
        for (const chunks of [
          [bytes],
          cutBytes(bytes, cuts),
          cutEvery(bytes, bytes.length < 1_000 ? 1 : 37),
        ]) {
          const rewritten = rewrite(chunks, { maxHeldBytes: HELD });
          expect(rewritten.status).toBe("complete");
          expect(rewritten.facts).toEqual(facts);
          expect(body === undefined ? body : normalize(rewritten.text)).toEqual(body);
        }
        if (body !== undefined) responses++;
      }),
      { numRuns: 400 },
    );
    expect(responses).toBeGreaterThan(100);
  });

  it("has the same bytes for any chunks", () => {
    assert(
      property(response, places, (text, cuts) => {
        const bytes = encoder.encode(text);
        const whole = rewrite([bytes], { maxHeldBytes: HELD });
        expect(rewrite(cutBytes(bytes, cuts), { maxHeldBytes: HELD }).text).toBe(whole.text);
      }),
      { numRuns: 500 },
    );
  });

  it("is untouched on the native endpoint, and says the same facts", () => {
    assert(
      property(response, places, (text, cuts) => {
        const rewritten = rewrite(cutBytes(encoder.encode(text), cuts), {
          isNative: true,
          maxHeldBytes: HELD,
        });
        expect(rewritten.text).toBe(text);
        expect(rewritten.facts).toEqual(renderPlainly(text).facts);
      }),
      { numRuns: 500 },
    );
  });

  it("leaves numbers as the provider wrote them", () => {
    const text = '{"created":1.7e9,"data":[{"url":"u","seed":12345678901234567890}],"model":"m","cost":1.50}';
    expect(rewriteText(text).text).toBe(text.replace('"m"', JSON.stringify(MODEL)));
  });

  it.each([
    ["first", '[{"error":{}},{"url":"a"},{"url":"b"}]', [0]],
    ["in the middle", '[{"url":"a"},{"error":{}},{"url":"b"}]', [1]],
    ["last", '[{"url":"a"},{"url":"b"},{"error":{}}]', [2]],
    ["around", '[{},null, {"url":"a"} ,"x" , {"url":"b"},5]', [0, 1, 3, 5]],
  ])("removes failed items from data if they are %s", (_where, data, indices) => {
    const body = JSON.parse(rewriteText(`{"data":${data}}`).text);
    expect(body.data).toEqual([{ url: "a" }, { url: "b" }]);
    expect(body.extra.errors.map(({ index }: { index: number }) => index)).toEqual(indices);
  });

  it("is certain of an image as soon as its base64 is too long to be held", () => {
    const rewriter = createRewriter();
    rewriter.push(encoder.encode('{"data":[{"error":{"code":"A"}},{"b64_json":"'));
    expect(rewriter.facts.images).toBe(0);
    rewriter.push(new Uint8Array(16 * 1024 + 1).fill(0x41));
    expect(rewriter.facts).toMatchObject({ images: 1, errors: [{ index: 0, code: "A" }] });
  });

  it("has no end before its provider's", () => {
    const rewriter = createRewriter();
    const sent = rewriter.push(encoder.encode('{"created":5,"model":"m","data":[{"url":"u"}]} '));
    expect(Buffer.concat(bytesOf(sent)).toString()).toMatch(/]$/);
    expect(Buffer.concat(rewriter.end()).toString()).toBe("}");
  });

  it.each([
    ["is cut", '{"data":[{"url":"u"}'],
    ["is followed by junk", '{"data":[{"url":"u"}]}x'],
    ["has no image", '{"data":[]}'],
    ["takes its image back", '{"data":[{"url":"u"}],"data":[]}'],
    ["tells of a failure after its image", '{"data":[{"url":"u"}],"error":{"code":"A"}}'],
    ["has a word in place of a number", '{"data":[{"url":"u"}],"created":trve}'],
    ["has an item that is no JSON", '{"data":[{"url":"u"},{"url":"\\x"}]}'],
  ])("has no end if the provider's %s", (_what, text) => {
    const { text: sent } = rewriteText(text);
    expect(() => JSON.parse(sent)).toThrow(SyntaxError);
  });

  it("reads a very long failure and cuts its message short", () => {
    const { facts } = rewriteText(`{"error":{"message":"${LONG}","code":"A"}}`);
    expect(facts).toMatchObject({ images: 0, failure: { code: "A", message: "x".repeat(8_192) } });
  });

  it("reads a report that is larger than 16 KiB", () => {
    const reported = `{"generated_images":2,"note":"${LONG}","output_tokens":9}`;
    const text = `{"data":[{"url":"u"}],"usage":${reported}}`;
    const { facts, text: sent } = rewriteText(text);
    expect(facts.usage).toEqual({ generated_images: 2, output_tokens: 9 });
    expect(JSON.parse(sent).usage).toEqual(JSON.parse(reported));
  });

  it.each(['\uFEFF{"data":[{"url":"u"}]}', '\uFEFF \r\n{"data":[{"url":"u"}]}'])(
    "may begin with a byte order mark: %j",
    (text) => {
      for (const size of [1, 2, 1_000]) {
        const { facts, text: sent, status } = rewrite(cutEvery(encoder.encode(text), size));
        expect(status).toBe("complete");
        expect(facts.images).toBe(1);
        expect(JSON.parse(sent).data).toEqual([{ url: "u" }]);
      }
    },
  );

  it("is broken by half a byte order mark", () => {
    const bytes = Uint8Array.of(0xef, 0xbb, ...encoder.encode("{}"));
    for (const size of [1, 100]) expect(rewrite(cutEvery(bytes, size)).status).toBe("broken");
  });

  it("is excessive with more items than any batch has, which are not all remembered", () => {
    const { facts, status } = rewriteText(`{"data":[${"{},".repeat(5_000)}{}]}`);
    expect(status).toBe("excessive");
    expect(facts.errors.length).toBeLessThan(1_000);
  });

  it("reads the request id from the place that the family names", () => {
    const shape = { ...SEEDREAM_RESPONSE, requestId: "request_id" };
    const rewriter = new ResponseRewriter({ shape, model: MODEL, now: NOW });
    rewriter.push(encoder.encode('{"request_id":"0217"}'));
    expect(rewriter.facts.upstreamRequestId).toBe("0217");
  });
});

const LONG = "x".repeat(20_000);

describe("an item that is larger than 16 KiB", () => {
  const failedItem = `{"error":{"message":"${LONG}","code":"A"}}`;
  const item = `{"note":"${LONG}","b64_json":"${LONG}"}`;

  it.each([false, true])("is not an image if it is an error (native: %s)", (isNative) => {
    const text = `{"data":[{"url":"u"},${failedItem},{"url":"v"}],"usage":{"generated_images":2}}`;
    const bytes = encoder.encode(text);
    for (const size of [1, 13, 8_192, 16_384, 16_385, 50_000]) {
      const { facts, text: sent } = rewrite(cutEvery(bytes, size), { isNative });
      const error = { index: 1, code: "A", message: "x".repeat(8_192) };
      expect(facts).toMatchObject({ images: 2, errors: [error], usage: { generated_images: 2 } });
      const rewritten = { data: [{ url: "u" }, { url: "v" }], extra: { errors: [error] } };
      expect(JSON.parse(sent)).toMatchObject(isNative ? JSON.parse(text) : rewritten);
    }
  });

  it("is not an image if it is an error, also if images are handed over", () => {
    const text = `{"data":[{"url":"u"},${failedItem}]}`;
    for (const size of [1, 16_384, 100_000]) {
      const rewriter = createRewriter({ opensImages: true });
      const pieces = cutEvery(encoder.encode(text), size).flatMap((chunk) => rewriter.push(chunk));
      const error = { index: 1, code: "A", message: "x".repeat(8_192) };
      expect(rewriter.facts).toMatchObject({ images: 1, errors: [error] });
      expect(pieces.filter((piece) => !(piece instanceof Uint8Array))).toHaveLength(1);
    }
  });

  it.each([false, true])("is an image with its base64 at any place (native: %s)", (isNative) => {
    const text = `{"data":[${item},{"url":"v"}],"model":"m","created":1}`;
    for (const size of [1, 8_192, 100_000]) {
      const { facts, text: sent } = rewrite(cutEvery(encoder.encode(text), size), { isNative });
      expect(facts).toMatchObject({ images: 2, errors: [] });
      expect(JSON.parse(sent).data).toEqual(JSON.parse(text).data);
    }
  });

  it.each([false, true])("tells its size when it has ended (native: %s)", (isNative) => {
    const sized = `{"b64_json":"${LONG}","size":"2048x2048"}`;
    const layer = `{"size":"64x64","z_index":1,"b64_json":"${LONG}"}`;
    const rewriter = createRewriter({ isNative });
    rewriter.push(encoder.encode(`{"data":[${sized},${layer},{"b64_json":"${LONG}`));
    expect(rewriter.facts).toMatchObject({
      images: 3,
      made: [{ size: "2048x2048" }, { size: "64x64", isLayer: true }],
    });
    rewriter.push(encoder.encode('"}],"data":[{"url":"u","size":"1x1"}]}'));
    expect(rewriter.facts).toMatchObject({ images: 1, made: [{ size: "1x1" }] });
  });

  it("is an image as soon as its base64 is too long to be held", () => {
    const rewriter = createRewriter();
    rewriter.push(encoder.encode(`{"data":[{"note":"${LONG}`));
    expect(rewriter.facts.images).toBe(0);
    rewriter.push(encoder.encode(`","b64_json":"${LONG}`));
    expect(rewriter.facts.images).toBe(1);
  });

  it("is an image if all of its strings are short", () => {
    const fields = Array.from({ length: 3_000 }, (_, index) => `"f${index}":"v"`).join(",");
    const { facts, text: sent } = rewriteText(`{"data":[{${fields},"url":"u"}]}`);
    expect(facts.images).toBe(1);
    expect(JSON.parse(sent).data[0]).toMatchObject({ f0: "v", f2999: "v", url: "u" });
  });

  it("is not held without end: an image that begins after 256 KiB breaks the response", () => {
    const late = `{"data":[{"note":"${"x".repeat(300_000)}","b64_json":"${LONG}"}]}`;
    expect(rewrite(cutEvery(encoder.encode(late), 10_000)).status).toBe("broken");
    expect(rewriteText(late, { isNative: true })).toMatchObject({ status: "complete", facts: { images: 1 } });
  });

  it("is not an image if its error is longer than what is held", () => {
    const { facts, status } = rewriteText(
      `{"data":[{"error":{"code":"A","message":"${"x".repeat(300_000)}"}},{"url":"u"}]}`,
    );
    expect({ status, images: facts.images, errors: facts.errors.length }).toEqual({
      status: "complete",
      images: 1,
      errors: 1,
    });
  });
});

it.each([1, 16_385, 100_000])(
  "members that are null stay if images are handed over, in chunks of %d bytes",
  (size) => {
    const rewriter = createRewriter({ opensImages: true });
    const text = `{"data":[{"note":null,"b64_json":"${LONG}","seed":null}],"created":1}`;
    const layout = new JsonLayout();
    const sent = cutEvery(encoder.encode(text), size).flatMap((chunk) =>
      bytesOf(rewriter.push(chunk), layout),
    );
    const body = JSON.parse(Buffer.concat([...sent, ...rewriter.end()]).toString());
    expect(body.data).toEqual([{ note: null, b64_json: LONG, seed: null }]);
  },
);

describe("the members of an item that the family leaves out", () => {
  const shape = { ...SEEDREAM_RESPONSE, leftOut: ["type", "index"] };
  const large = `{"index":1,"type":"image","b64_json":"${LONG}","size":"1x1","type":"x"}`;
  const text = `{"data":[{"type":"image","url":"u","index":0},${large},{"b64_json":"AAAA","index":2},{"error":{"code":"A","message":"B"}}],"created":1}`;

  it.each([1, 13, 16_385, 100_000])("are not sent, in chunks of %d bytes", (size) => {
    const rewriter = new ResponseRewriter({ shape, model: MODEL, now: NOW });
    const layout = new JsonLayout();
    const sent = cutEvery(encoder.encode(text), size).flatMap((chunk) =>
      bytesOf(rewriter.push(chunk), layout),
    );
    const body = JSON.parse(Buffer.concat([...sent, ...rewriter.end()]).toString());
    expect(body.data).toEqual([{ url: "u" }, { b64_json: LONG, size: "1x1" }, { b64_json: "AAAA" }]);
    expect(body.extra).toEqual({ errors: [{ index: 3, code: "A", message: "B" }] });
  });

  it.each([1, 16_385, 100_000])("do not change OpenAI's events, in chunks of %d bytes", (size) => {
    const events = new OpenAiEvents("generate", NOW);
    const layout = new EventLayout(events, () => true);
    const rewriter = new ResponseRewriter({ shape, model: MODEL, now: NOW, onlyImages: true });
    const sent = cutEvery(encoder.encode(text), size).flatMap((chunk) =>
      bytesOf(rewriter.push(chunk), layout),
    );
    expect(rewriter.end()).toEqual([]);
    const body = Buffer.concat(sent).toString() + events.end(rewriter.facts);
    const data = body.match(/(?<=^data: )\{.*$/gm)?.map((line) => JSON.parse(line));
    expect(data).toMatchObject([
      { type: "image_generation.completed", url: "u" },
      { type: "image_generation.completed", b64_json: LONG, size: "1x1" },
      { type: "image_generation.completed", b64_json: "AAAA" },
    ]);
    expect(body).not.toContain('"index":1');
  });

  it("are sent if the response is native", () => {
    const rewriter = new ResponseRewriter({ shape, model: MODEL, now: NOW, isNative: true });
    const sent = bytesOf(rewriter.push(encoder.encode(text)));
    expect(Buffer.concat([...sent]).toString()).toBe(text);
  });

  it("stay links that become base64", () => {
    const rewriter = new ResponseRewriter({ shape, model: MODEL, now: NOW, convertsLinks: true });
    const pieces = rewriter.push(encoder.encode('{"data":[{"type":"image","url":"u"}]}'));
    const link = pieces.find((piece) => !(piece instanceof Uint8Array));
    expect(link).toEqual({ kind: "image", image: { url: "u" }, index: 0, createdAt: undefined });
  });
});

describe("an image that is a link", () => {
  const links = '[{"url":"a"},{"error":{"code":"A"}},{"b64_json":"B","url":"c"},{"url":"d","b64_json":""}]';

  it("is passed on with its index if base64 was requested", () => {
    const { facts, text } = rewriteText(`{"data":${links}}`, { convertsLinks: true });
    expect(facts.images).toBe(3);
    expect(JSON.parse(text).data).toEqual([{ 0: "a" }, { b64_json: "B", url: "c" }, { 3: "d" }]);
  });

  it("is passed on otherwise", () => {
    expect(JSON.parse(rewriteText(`{"data":${links}}`).text).data).toHaveLength(3);
  });

  it("is handed over whole if it is large", () => {
    const rewriter = createRewriter({ convertsLinks: true });
    const pieces = rewriter.push(encoder.encode(`{"data":[{"note":"${LONG}","url":"a"}]}`));
    expect(pieces.filter((piece) => !(piece instanceof Uint8Array))).toEqual([
      { kind: "image", index: 0, image: { note: LONG, url: "a" }, isBegun: true },
    ]);
  });

  it("is an entry in `extra.errors` if it stays a link", () => {
    const rewriter = createRewriter({ convertsLinks: true });
    const sent = [
      ...rewriter.push(encoder.encode('{"data":[{"error":{"code":"A","message":"No."}},{"url":"a"}]}')),
    ];
    sent.push(...rewriter.end([{ index: 1, code: "B", message: "Gone." }]));
    expect(JSON.parse(Buffer.concat(bytesOf(sent)).toString()).extra.errors).toEqual([
      { index: 0, code: "A", message: "No." },
      { index: 1, code: "B", message: "Gone." },
    ]);
  });
});

/** Chunks of a response whose images are this number of bytes of base64. */
function imageChunks(bytes: number): readonly Uint8Array[] {
  const text = `{"model":"m","created":5,"data":[{"b64_json":"${"A".repeat(bytes)}","size":"1x1"}],"usage":{"generated_images":1}}`;
  return cutEvery(encoder.encode(text), 64 * 1024);
}

describe.each([
  ["on /v1", false],
  ["on the native endpoint", true],
])("a response of 32 MB %s", (_where, isNative) => {
  it("goes through in no time, in the provider's own memory", () => {
    const chunks = imageChunks(32 * MIB);
    const rewriter = createRewriter({ isNative });
    const sent: Uint8Array[] = [];
    // Not the clock's time: other tests run beside this one.
    const before = process.cpuUsage();
    for (const chunk of chunks) sent.push(...bytesOf(rewriter.push(chunk)));
    sent.push(...rewriter.end());
    const { user, system } = process.cpuUsage(before);
    expect(rewriter.facts).toMatchObject({ images: 1, usage: { generated_images: 1 } });
    const memories = new Set(chunks.map(({ buffer }) => buffer));
    const copied = sent
      .filter(({ buffer }) => !memories.has(buffer))
      .reduce((sum, { length }) => sum + length, 0);
    expect(copied).toBeLessThan(8 * 1024);
    expect((user + system) / 1_000).toBeLessThan(1_000);
  });
});
