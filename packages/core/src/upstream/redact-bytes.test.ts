import { array, assert, constantFrom, nat, oneof, property, string, tuple } from "fast-check";
import { describe, expect, it } from "vitest";
import { freeMemory } from "../testing/free-memory.js";
import { createByteRedaction } from "./redact-bytes.js";

const encoder = new TextEncoder();
const ARK = "5f4dcc3b-5aa7-65d6-1d83-27deb882cf99";
const DASHSCOPE = "sk-0a1b2c3d4e5f60718293a4b5c6d7e8f9";

type Passed = Uint8Array | readonly Uint8Array[];

const list = (passed: Passed): readonly Uint8Array[] => (passed instanceof Uint8Array ? [passed] : passed);
const read = (passed: Passed): string => Buffer.concat(list(passed)).toString("latin1");

/** The output for these pieces, for each push and for the end. All of it is freed before the next push. */
function run(secrets: readonly string[], pieces: readonly string[]): readonly string[] {
  const redaction = createByteRedaction(secrets).open();
  return [
    ...pieces.map((piece) => readAndFree(redaction.push(toChunk(piece)))),
    readAndFree(redaction.end()),
  ];
}

/** A Buffer that is all of its memory, as undici gives it. */
function toChunk(piece: string): Buffer {
  return Buffer.from(new Uint8Array(Buffer.from(piece, "latin1")).buffer);
}

function readAndFree(passed: Passed): string {
  const text = read(passed);
  for (const chunk of list(passed)) freeMemory(chunk);
  return text;
}

function cut(text: string, ...places: readonly number[]): readonly string[] {
  const bounds = [0, ...places.toSorted((a, b) => a - b), text.length];
  return bounds.slice(1).map((end, index) => text.slice(bounds[index], end));
}

const letters = string({ unit: constantFrom("a", "b"), minLength: 2, maxLength: 5 });

describe("createByteRedaction", () => {
  it.each([
    ["at the beginning", `${ARK} is wrong`, "*** is wrong"],
    ["at the end", `wrong: ${ARK}`, "wrong: ***"],
    ["as all there is", ARK, "***"],
    ["twice, side by side", `${ARK}${ARK}`, "******"],
    ["beside another", `${ARK},${DASHSCOPE}!`, "***,***!"],
    ["after most of it", `5f4dcc3b-5aa7-65d6-1d83-${ARK}`, "5f4dcc3b-5aa7-65d6-1d83-***"],
    [
      "between megabytes",
      `${"A".repeat(1_000_000)}${ARK}${"B".repeat(99)}`,
      `${"A".repeat(1_000_000)}***${"B".repeat(99)}`,
    ],
  ])("redacts a secret %s", (_where, text, redacted) => {
    expect(run([ARK, DASHSCOPE], [text]).join("") === redacted).toBe(true);
  });

  it("finds a secret at every pair of splits", () => {
    const text = `{"id":"${DASHSCOPE}","next":"sk-0a1b"}`;
    for (let first = 0; first <= text.length; first++) {
      for (let second = first; second <= text.length; second++) {
        const shown = run([ARK, DASHSCOPE], cut(text, first, second)).join("");
        // Up to three characters of a secret may be passed on before the split.
        expect(shown).toMatch(/^\{"id":"(?:|s|sk|sk-)\*\*\*","next":"sk-0a1b"\}$/);
      }
    }
  });

  it("finds a secret that arrives byte by byte", () => {
    expect(run([DASHSCOPE], `a ${DASHSCOPE} b`.split("")).join("")).toBe("a sk-*** b");
  });

  it.each([
    ["abcdefgh", "abcdefghijkl"],
    ["abcdefghijkl", "abcdefgh"],
  ])("leaves no byte of a secret that begins with another one (%s, %s)", (...secrets) => {
    const text = "x abcdefghijkl y abcdefgh z abcdefgh";
    for (let place = 0; place <= text.length; place++) {
      const shown = run(secrets, cut(text, place)).join("");
      expect(shown).toMatch(/^x (?:|a|ab|abc)\*\*\* y (?:|a|ab|abc)\*\*\* z (?:|a|ab|abc)\*\*\*$/);
    }
  });

  it.each([
    ["JavaScript and Python", "ab\"c\\d/e<f>&g='h+", "ab\\\"c\\\\d/e<f>&g='h+"],
    ["PHP", "abcd/efgh/ij", "abcd\\/efgh\\/ij"],
    ["Go", "abcd<efgh>&ij", "abcd\\u003cefgh\\u003e\\u0026ij"],
    ["Gson", "abcd=efgh'ij", "abcd\\u003defgh\\u0027ij"],
    ["a serializer with capital letters", "abcd=efgh<ij", "abcd\\u003Defgh\\u003Cij"],
  ])("finds a secret as %s writes it in JSON", (_who, secret, written) => {
    for (let place = 0; place <= written.length; place++) {
      const shown = run([secret], cut(`"${written}"`, place)).join("");
      expect(shown).toMatch(/^"(?:|a|ab|abc)\*\*\*"$/);
    }
  });

  it("returns the same chunk object if it has no secret", () => {
    const redaction = createByteRedaction([ARK, DASHSCOPE]).open();
    for (const text of ["A".repeat(70_000), "ends like a key: sk-", "data: [DONE]\n\n", "s"]) {
      const chunk = encoder.encode(text);
      const [only, ...others] = list(redaction.push(chunk));
      expect(others).toEqual([]);
      expect(only).toBe(chunk);
    }
    expect(redaction.end()).toEqual([]);
  });

  it("passes on no empty chunk", () => {
    expect(createByteRedaction([ARK]).open().push(new Uint8Array(0))).toEqual([]);
  });

  it("holds back no byte of a complete event", () => {
    const event = `event: error\ndata: {"message":"${ARK}"}\n\n`;
    expect(run([ARK], [event, event])).toEqual([event.replace(ARK, "***"), event.replace(ARK, "***"), ""]);
  });

  it("passes on the bytes that it held back if no secret follows", () => {
    expect(run([ARK], ["a 5f4dcc3b-5aa7", "-65d", "7 b", ARK.slice(0, 20)])).toEqual([
      "a ",
      "",
      "5f4dcc3b-5aa7-65d7 b",
      "",
      ARK.slice(0, 20),
    ]);
  });

  it("gives each replacement its own memory, which a host may free", () => {
    const redaction = createByteRedaction([ARK]).open();
    for (const { buffer } of list(redaction.push(encoder.encode(ARK)))) {
      if (buffer instanceof ArrayBuffer) structuredClone(buffer, { transfer: [buffer] });
    }
    expect(read(redaction.push(encoder.encode(ARK)))).toBe("***");
  });

  it.each([1, 2, 3, 4, 12, 35])(
    "keeps nothing of a chunk that a host frees, cut after %i bytes of a secret",
    (length) => {
      const redaction = createByteRedaction([ARK]).open();
      const passOn = (text: string): string => {
        // As undici gives it: a `Buffer` with memory of its own.
        const chunk = Buffer.from(new TextEncoder().encode(text).buffer);
        const passed = read(redaction.push(chunk));
        chunk.buffer.transfer(0);
        return passed;
      };

      const passed = [
        passOn(`wrong: ${ARK.slice(0, length)}`),
        passOn(`${ARK.slice(length)}!`),
        read(redaction.end()),
      ];

      // At most three bytes of a secret are passed on before it is known to be one.
      expect(passed.join("")).toBe(`wrong: ${length > 3 ? "" : ARK.slice(0, length)}***!`);
    },
  );

  it("passes all bytes if there are no secrets", () => {
    expect(run([], [ARK, "b"])).toEqual([ARK, "b", ""]);
  });

  it.each([
    ["any characters", string({ unit: constantFrom("a", "b", "-"), minLength: 4, maxLength: 9 })],
    [
      "a character that base64 has not",
      tuple(letters, constantFrom("-", "_"), letters).map((all) => all.join("")),
    ],
  ])(
    "gives the same result as a search in the whole text, split at any bytes: secrets of %s",
    (_what, secret) => {
      const parts = array(oneof(string({ unit: constantFrom("a", "b", "-", "x"), maxLength: 12 }), nat(3)));
      assert(
        property(
          array(secret, { minLength: 1, maxLength: 4 }),
          parts,
          array(nat(60)),
          (secrets, made, places) => {
            const text = made
              .map((part) => (typeof part === "number" ? (secrets[part % secrets.length] ?? "") : part))
              .join("");
            const shown = run(secrets, cut(text, ...places.map((place) => place % (text.length + 1)))).join(
              "",
            );
            const whole = redactWhole(text, secrets);
            // Up to three characters of a secret may be before its replacement.
            const replacements = whole.split("***").length - 1;
            expect(shown.length - whole.length).toBeLessThanOrEqual(3 * replacements);
            expect(shown.replace(/[ab_-]*(?=\*\*\*)/g, "")).toBe(whole.replace(/[ab_-]*(?=\*\*\*)/g, ""));
          },
        ),
        { numRuns: 2_000 },
      );
    },
  );
});

/** The simple version: from left to right, and the longest secret first. */
function redactWhole(text: string, secrets: readonly string[]): string {
  const longestFirst = secrets.toSorted((a, b) => b.length - a.length);
  let redacted = "";
  for (let at = 0; at < text.length; ) {
    const secret = longestFirst.find((candidate) => text.startsWith(candidate, at));
    redacted += secret === undefined ? text[at] : "***";
    at += secret?.length ?? 1;
  }
  return redacted;
}
