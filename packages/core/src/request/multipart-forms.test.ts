import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import busboy from "busboy";
import { array, assert, asyncProperty, integer } from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BOUNDARY, FORM_TYPE, formBytes, inPieces, PNG } from "../testing/form-bytes.js";
import { openMemorySpool, type PlainPart, toPlainParts } from "../testing/form-files.js";
import { allowFreeing } from "../util/free-chunk.js";
import { FormSplitter } from "./form-splitter.js";
import { collectForm, type FormLimits, type FormParser } from "./multipart.js";

const LIMITS: FormLimits = { form: 1_000_000, file: 100_000 };

const warnings: Error[] = [];
const noteWarning = (warning: Error): void => void warnings.push(warning);

beforeEach(() => {
  process.on("warning", noteWarning);
});

afterEach(() => {
  process.off("warning", noteWarning);
});

interface Collected {
  readonly parts: readonly PlainPart[];
  readonly parser: busboy.Busboy;
}

function createParser(limits: FormLimits, type = FORM_TYPE): FormParser {
  const parser = busboy({
    headers: { "content-type": type },
    defParamCharset: "utf8",
    limits: { fieldSize: limits.form + 1, files: 3, fields: 4 },
  });
  return { parser, splitter: new FormSplitter(type.replace(/^.*boundary=/, "")) };
}

async function collect(
  body: AsyncIterable<Uint8Array> | null,
  limits: FormLimits = LIMITS,
  type = FORM_TYPE,
): Promise<Collected> {
  const form = createParser(limits, type);
  const parts = await collectForm({ body }, form, { limits, spool: openMemorySpool() });
  return { parts: toPlainParts(parts), parser: form.parser };
}

/** The error of a form, or a string if there is none in time. */
async function refusalOf(collected: Promise<unknown>): Promise<unknown> {
  const outcome = await Promise.race([
    collected.catch((error: unknown) => error),
    pause(4_000, "no response"),
  ]);
  return outcome;
}

const file = (bytes: number): Uint8Array<ArrayBuffer> =>
  formBytes({ name: "image", filename: "a", content: "x".repeat(bytes) });

/** Sends these bytes and then stalls. */
async function* stalling(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield bytes;
  await new Promise(() => {});
}

const refused = (status: number, message: RegExp): unknown =>
  expect.objectContaining({ name: "GatewayError", status, message: expect.stringMatching(message) });

describe("busboy's cases", () => {
  interface BusboyCase {
    readonly what: string;
    readonly boundary: string;
    readonly limits?: object;
    readonly source_b64: readonly string[];
    readonly expected: readonly (string | BusboyEvent)[];
  }

  interface BusboyEvent {
    readonly type?: "field" | "file";
    readonly name?: string;
    readonly val?: string;
    /** Holds base64 in one field. */
    readonly data?: object;
    readonly error?: string;
    readonly err?: string;
  }

  const cases: readonly BusboyCase[] = JSON.parse(
    readFileSync(
      new URL("../../../conformance/fixtures/multipart/busboy-cases.json", import.meta.url),
      "utf8",
    ),
  );

  /** Cases about options of busboy that are not used here. */
  const ABOUT_OPTIONS: ReadonlySet<string> = new Set([
    "Fields and files (limits)",
    "Fields and files (limits: 0 files)",
    "Fields and (ignored) files",
    "Skip field parts if no listener",
    "Parts limit",
    "Fields limit",
    "Files limit",
  ]);

  const bytesOf = ({ source_b64 }: BusboyCase): Uint8Array<ArrayBuffer> =>
    new Uint8Array(Buffer.concat(source_b64.map((text) => Buffer.from(text, "base64"))));

  const typeOf = ({ boundary }: BusboyCase): string => `multipart/form-data; boundary=${boundary}`;

  const toParts = ({ expected }: BusboyCase): readonly object[] =>
    expected.flatMap((event) => {
      if (typeof event === "string" || event.type === undefined) return [];
      const { name, val, data } = event;
      return data === undefined
        ? { name, value: val }
        : { name, bytes: Buffer.from(String(Object.values(data)[0]), "base64") };
    });

  const isRefused = ({ expected }: BusboyCase): boolean =>
    expected.some((event) => typeof event !== "string" && event.error !== undefined);

  it("are all read from the fixture", () => {
    expect(cases).toHaveLength(26);
  });

  describe.each([
    ["whole", 1_000_000],
    ["byte by byte", 1],
    ["in pieces of 7", 7],
  ])("%s", (_how, size) => {
    it.each(cases.filter((sample) => !isRefused(sample) && !ABOUT_OPTIONS.has(sample.what)))(
      "$what: has its parts",
      async (sample) => {
        const { parts } = await collect(inPieces(bytesOf(sample), size), LIMITS, typeOf(sample));
        expect(parts).toEqual(toParts(sample));
      },
    );

    it.each(cases.filter(({ what }) => ABOUT_OPTIONS.has(what)))(
      "$what: has all its parts",
      async (sample) => {
        const { parts } = await collect(inPieces(bytesOf(sample), size), LIMITS, typeOf(sample));
        expect(parts.length).toBeGreaterThanOrEqual(2);
        expect(parts.map(({ name }) => name)).toEqual(
          expect.arrayContaining(toParts(sample).map((part) => ("name" in part ? part.name : undefined))),
        );
      },
    );

    it.each(cases.filter(isRefused))("$what: is refused", async (sample) => {
      const refusal = await refusalOf(collect(inPieces(bytesOf(sample), size), LIMITS, typeOf(sample)));
      expect(refusal).toEqual(refused(400, /^The form is malformed or was cut on its way\.$/));
    });
  });
});

describe("a form", () => {
  it("returns its parts in order, each with its bytes", async () => {
    const big = Uint8Array.from({ length: 90_000 }, (_, index) => (index * 31) % 256);
    const form = formBytes(
      { name: "a", filename: "1", content: big },
      { name: "t", content: "雪\r\n--x" },
      { name: "a", filename: "2", content: "" },
      { name: "é", content: "" },
    );
    const { parts } = await collect(inPieces(form, 1_000));
    expect(parts).toEqual([
      { name: "a", bytes: Buffer.from(big) },
      { name: "t", value: "雪\r\n--x" },
      { name: "a", bytes: Buffer.alloc(0) },
      { name: "é", value: "" },
    ]);
  });

  it("has the same parts wherever its chunks are cut", async () => {
    const form = formBytes(
      { name: "prompt", content: "a cat" },
      {
        name: "image",
        filename: "a.png",
        type: "image/png",
        content: `\r\n--${BOUNDARY.slice(0, -1)}\r\n\r`,
      },
    );
    const { parts } = await collect(inPieces(form));
    await assert(
      asyncProperty(array(integer({ min: 1, max: form.length }), { maxLength: 8 }), async (places) => {
        const cuts = [...places.toSorted((a, b) => a - b), form.length];
        async function* body() {
          for (const [index, end] of cuts.entries()) yield form.subarray(cuts[index - 1] ?? 0, end);
        }
        expect((await collect(body())).parts).toEqual(parts);
      }),
      { numRuns: 60 },
    );
  });

  it.each(["", "\r", "\r\n", "-", "--", "\r\n-", `\r\n--${BOUNDARY.slice(0, 3)}`, "\r\n\r\n\r\n", "short"])(
    "has short content %j, in files and fields, however it is cut",
    async (content) => {
      const form = formBytes(
        { name: "file", filename: "a", content },
        { name: "text", content },
        { name: "last", filename: "b", content },
      );
      for (const size of [1, 2, 7, 30, form.length]) {
        const { parts } = await collect(inPieces(form, size));
        expect(parts).toEqual([
          { name: "file", bytes: Buffer.from(content) },
          { name: "text", value: content },
          { name: "last", bytes: Buffer.from(content) },
        ]);
      }
    },
  );

  it("may be of one chunk that holds much more than a head", async () => {
    const content = "x".repeat(80_000);
    const form = formBytes({ name: "file", filename: "a", content }, { name: "text", content });
    expect((await collect(inPieces(form, form.length))).parts).toEqual([
      { name: "file", bytes: Buffer.from(content) },
      { name: "text", value: content },
    ]);
  });

  it("frees the memory of its chunks that may be freed, and no other", async () => {
    const content = Buffer.from(Uint8Array.from({ length: 90_000 }, (_, index) => (index * 31) % 256));
    const form = formBytes({ name: "a", content: "1" }, { name: "b", filename: "b", content });
    const chunks: Uint8Array[] = [];
    async function* body() {
      for (let start = 0; start < form.length; start += 30_000) {
        const chunk = form.slice(start, start + 30_000);
        if (chunks.length % 2 === 0) allowFreeing(chunk);
        chunks.push(chunk);
        yield chunk;
      }
    }
    const { parts } = await collect(body());
    expect(parts).toEqual([
      { name: "a", value: "1" },
      { name: "b", bytes: content },
    ]);
    expect(chunks.map(({ length }) => length)).toEqual([0, 30_000, 0, form.length - 90_000]);
  });

  it("may have no parts", async () => {
    expect((await collect(inPieces(formBytes()))).parts).toEqual([]);
  });

  it("may have a preamble and an epilogue", async () => {
    const bytes = Buffer.concat([
      Buffer.from("before\r\n"),
      formBytes({ name: "a", content: "1" }),
      Buffer.from("after"),
    ]);
    expect((await collect(inPieces(bytes))).parts).toEqual([{ name: "a", value: "1" }]);
  });

  it.each(["utf-8", "UTF8", "latin1"])("has fields in %s", async (charset) => {
    const form = formBytes({ name: "a", type: `text/plain; charset=${charset}`, content: "plain" });
    expect((await collect(inPieces(form))).parts).toEqual([{ name: "a", value: "plain" }]);
  });

  it("destroys its parser and leaves nothing waiting, complete or not", async () => {
    const whole = await collect(inPieces(formBytes({ name: "a", filename: "a", content: PNG })));
    expect(whole.parser.destroyed).toBe(true);
    const parser = busboy({ headers: { "content-type": FORM_TYPE } });
    const streams: { readonly destroyed: boolean }[] = [];
    parser.on("file", (_name, stream) => streams.push(stream));
    const options = { limits: LIMITS, spool: openMemorySpool() };
    const collecting = { parser, splitter: new FormSplitter(BOUNDARY) };
    const half = formBytes({ name: "a", filename: "a", content: "x".repeat(50_000) }).subarray(0, 20_000);
    expect(await refusalOf(collectForm({ body: inPieces(half) }, collecting, options))).toEqual(
      refused(400, /cut/),
    );
    expect(parser.destroyed).toBe(true);
    expect(streams).toMatchObject([{ destroyed: true }]);
  });
});

describe("a form that was cut", () => {
  const form = formBytes(
    { name: "model", content: "m" },
    { name: "image", filename: "a.png", type: "image/png", content: PNG },
    { name: "prompt", content: "a cat" },
  );
  /** After the two dashes that end it nothing is missing. */
  const end = form.length - 2;

  it("at any place is refused at once", async () => {
    const responses = new Map<number, unknown>();
    await Promise.all(
      Array.from({ length: end }, async (_, length) => {
        responses.set(length, await refusalOf(collect(inPieces(form.subarray(0, length)))));
      }),
    );
    expect(responses.size).toBe(end);
    for (const response of responses.values())
      expect(response).toEqual(refused(400, /^The form is malformed or was cut on its way\.$/));
  });

  it("at any place and arrives byte by byte is refused at once", async () => {
    const responses = await Promise.all(
      Array.from({ length: end }, (_, length) => refusalOf(collect(inPieces(form.subarray(0, length), 1)))),
    );
    for (const response of responses) expect(response).toEqual(refused(400, /cut on its way/));
  });

  it("in its last line end is complete", async () => {
    for (const length of [end, end + 1, form.length]) {
      expect((await collect(inPieces(form.subarray(0, length)))).parts).toHaveLength(3);
    }
  });

  it("because the client left says so", async () => {
    for (let length = 0; length < form.length; length += 9) {
      const cause = new Error("aborted");
      async function* body() {
        yield form.subarray(0, length);
        throw cause;
      }
      const refusal = await refusalOf(collect(body()));
      expect(refusal).toEqual(refused(499, /^The body ended before it was complete\.$/));
      expect(refusal).toHaveProperty("cause", cause);
    }
  });

  it.each([
    ["no body", null],
    ["an empty body", inPieces(new Uint8Array())],
  ])("to %s is refused", async (_what, body) => {
    expect(await refusalOf(collect(body))).toEqual(refused(400, /cut on its way/));
  });
});

describe("a form past a limit", () => {
  it("accepts a file of exactly the limit and no byte more", async () => {
    const limits = { form: 1_000_000, file: 5_000 };
    expect((await collect(inPieces(file(5_000)), limits)).parts).toHaveLength(1);
    for (const size of [1, 999, 1_000_000]) {
      expect(await refusalOf(collect(inPieces(file(5_001), size), limits))).toEqual(
        refused(413, /^The file in image is larger than 5000 bytes\.$/),
      );
    }
  });

  it("accepts a form of exactly the limit and no byte more", async () => {
    const form = file(5_000);
    expect((await collect(inPieces(form), { form: form.length, file: 9_000 })).parts).toHaveLength(1);
    for (const size of [1, 999, 1_000_000]) {
      expect(await refusalOf(collect(inPieces(form, size), { form: form.length - 1, file: 9_000 }))).toEqual(
        refused(413, new RegExp(`^The form is larger than ${form.length - 1} bytes`)),
      );
    }
  });

  it("is refused before the rest arrives", async () => {
    let sent = 0;
    async function* endless() {
      yield formBytes({ name: "image", filename: "a", content: "x" }).subarray(0, -(BOUNDARY.length + 8));
      for (;;) {
        sent++;
        yield new Uint8Array(10_000);
        await pause(0);
      }
    }
    expect(await refusalOf(collect(endless(), { form: 10_000_000, file: 50_000 }))).toEqual(
      refused(413, /file/),
    );
    const sentThen = sent;
    await pause(20);
    expect(sentThen).toBeLessThan(20);
    expect(sent).toBeLessThanOrEqual(sentThen + 1);
  });

  it("is refused at once if its body stalls after the fault", async () => {
    const named = formBytes({ name: "x".repeat(300), content: "1" });
    expect(await refusalOf(collect(stalling(named.subarray(0, -4))))).toEqual(
      refused(400, /name is longer than 256/),
    );
  });

  it.each([
    ["files", { filename: "f", content: "x" }, 4],
    ["fields", { content: "x" }, 5],
  ])("has too many %s", async (_what, part, count) => {
    const parts = Array.from({ length: count }, (_, index) => ({ name: `p${index}`, ...part }));
    expect(await refusalOf(collect(inPieces(formBytes(...parts))))).toEqual(
      refused(400, /^The form has too many parts\.$/),
    );
    expect((await collect(inPieces(formBytes(...parts.slice(1))))).parts).toHaveLength(count - 1);
  });

  it.each([
    ["a file name", { filename: "f" }],
    ["a field name", {}],
  ])("has %s that is too long", async (_what, part) => {
    const named = (length: number) => formBytes({ ...part, name: "n".repeat(length), content: "x" });
    expect((await collect(inPieces(named(256)))).parts).toHaveLength(1);
    expect(await refusalOf(collect(inPieces(named(257))))).toEqual(
      refused(400, /longer than 256 characters/),
    );
  });

  it.each([
    ["a part without a name", { content: "x" }, /^The form has a part without a name\.$/],
    ["a file without a name", { filename: "f", content: "x" }, /^The form has a part without a name\.$/],
    [
      "a charset that is not known",
      { name: "a", type: "text/plain; charset=gbk", content: "x" },
      /^The form's field a is not in UTF-8\.$/,
    ],
    [
      "headers past all measure",
      { name: "a", headers: [`X-Long: ${"x".repeat(20_000)}`], content: "x" },
      /malformed/,
    ],
    [
      "headers without end",
      { name: "a", headers: Array.from({ length: 3_000 }, (_, index) => `X-${index}: 1`), content: "x" },
      /malformed/,
    ],
    ["a header without a colon", { name: "a", headers: ["no header"], content: "x" }, /malformed/],
  ])("has %s", async (_what, part, message) => {
    for (const size of [1, 100_000]) {
      expect(await refusalOf(collect(inPieces(formBytes(part), size)))).toEqual(refused(400, message));
    }
  });
});

describe("the body of a form", () => {
  it("is not read faster than the parser accepts it", async () => {
    let open = 0;
    let most = 0;
    const form = formBytes({ name: "image", filename: "a", content: "x".repeat(90_000) });
    async function* body() {
      for await (const piece of inPieces(form, 1_000)) {
        open++;
        most = Math.max(most, open);
        yield piece;
        open--;
      }
    }
    await collect(body());
    expect(most).toBe(1);
  });

  it("may arrive slowly", async () => {
    const form = formBytes({ name: "a", content: "1" }, { name: "b", filename: "b", content: PNG });
    async function* body() {
      for await (const piece of inPieces(form, 60)) {
        await pause(3);
        yield piece;
      }
    }
    expect((await collect(body())).parts).toHaveLength(2);
  });

  it("is in memory once", async () => {
    const limits = { form: 200_000_000, file: 100_000_000 };
    const piece = Buffer.alloc(64 * 1024, 0x78);
    async function* body() {
      yield formBytes({ name: "image", filename: "a", content: "" }).subarray(0, -(BOUNDARY.length + 8));
      // As a socket gives them: each chunk in memory of its own.
      for (let index = 0; index < 640; index++) yield Buffer.from(piece);
      yield Buffer.from(`\r\n--${BOUNDARY}--\r\n`);
    }
    const before = process.memoryUsage();
    const parser = createParser(limits);
    const [part] = await collectForm({ body: body() }, parser, {
      limits,
      spool: openMemorySpool(),
    });
    const after = process.memoryUsage();
    expect(part).toMatchObject({ file: { byteLength: 640 * 64 * 1024 } });
    const held = after.arrayBuffers - before.arrayBuffers;
    expect(held).toBeLessThan(3 * 640 * 64 * 1024);
  });

  it("leaves no listener behind", async () => {
    const form = formBytes({ name: "image", filename: "a", content: "x".repeat(99_000) });
    const { parser } = await collect(inPieces(form, 50));
    await pause(5);
    expect(parser.listenerCount("drain")).toBe(0);
    expect(warnings).toEqual([]);
  });
});
