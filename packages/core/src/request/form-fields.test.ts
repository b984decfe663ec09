import { describe, expect, it } from "vitest";
import { seedream } from "../families/seedream/seedream.js";
import { JPEG, JPEG_URL, PNG, PNG_URL } from "../testing/form-bytes.js";
import { spooledFile, withDataUrls } from "../testing/form-files.js";
import { convertFormFields, type FieldPart, toFormFields } from "./form-fields.js";

const MODEL: FieldPart = { name: "model", value: "m" };
const IMAGE: FieldPart = { name: "image", value: "https://x/1.png" };

const text = (name: string, value: string): FieldPart => ({ name, value });
const file = (name: string, bytes: Uint8Array): FieldPart => ({ name, file: spooledFile(bytes) });

const refused = (message: string | RegExp, param: string): unknown =>
  expect.objectContaining({
    status: 400,
    code: "invalid_request_error",
    param,
    message: typeof message === "string" ? message : expect.stringMatching(message),
  });

/** The fields of a form with the types of a family, or the error. */
function read(...parts: readonly FieldPart[]): unknown {
  try {
    return withDataUrls(convertFormFields(toFormFields(parts), seedream.fields ?? {}));
  } catch (error) {
    return error;
  }
}

describe("the images of a form", () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ["image alone", ["image"], ["image"]],
    ["image, repeated", ["image 1", "image 2", "image 3"], ["image 1", "image 2", "image 3"]],
    ["image[], repeated", ["image[] 1", "image[] 2"], ["image[] 1", "image[] 2"]],
    ["image[n], by number", ["image[10]", "image[2]", "image[0]"], ["image[0]", "image[2]", "image[10]"]],
    [
      "image[n] of one number, as sent",
      ["image[1] b", "image[1] a", "image[01] c"],
      ["image[1] b", "image[1] a", "image[01] c"],
    ],
    [
      "all three: by number first, then the others as sent",
      ["image[] 1", "image[7]", "image 2", "image[3]", "image[] 3"],
      ["image[3]", "image[7]", "image[] 1", "image 2", "image[] 3"],
    ],
    [
      "a huge number, before those without",
      ["image", `image[${"9".repeat(30)}]`],
      [`image[${"9".repeat(30)}]`, "image"],
    ],
  ])("%s", (_what, sent, order) => {
    const parts = sent.map((what) => text(what.split(" ")[0] ?? "", `https://x/${what}`));
    expect(read(MODEL, ...parts)).toEqual({ model: "m", image: order.map((what) => `https://x/${what}`) });
  });

  it("are files, URLs and data URLs, in one order", () => {
    const parts = [
      file("image", PNG),
      text("image", "https://x/2"),
      file("image[]", JPEG),
      text("image", PNG_URL),
    ];
    expect(read(...parts, MODEL)).toEqual({ model: "m", image: [PNG_URL, "https://x/2", JPEG_URL, PNG_URL] });
  });

  it("may be fifteen, because the family counts them", () => {
    const parts = Array.from({ length: 15 }, () => IMAGE);
    expect(read(MODEL, ...parts)).toMatchObject({
      image: Array.from({ length: 15 }, () => "https://x/1.png"),
    });
  });

  it.each(["image", "image[]", "image[3]"])(
    "in %s that are not images are refused with that name",
    (name) => {
      expect(read(MODEL, file("image", PNG), file(name, Buffer.from("hello")))).toEqual(
        refused(
          `The file in ${name} is not a supported image: send PNG, JPEG, WebP, GIF, BMP, TIFF or HEIC.`,
          name,
        ),
      );
      expect(read(MODEL, file(name, new Uint8Array()))).toEqual(
        refused(/^The file in .+ is empty: send PNG/, name),
      );
    },
  );

  it.each(["images", "image[a]", "image[-1]", "image[1.5]", "image[0][1]", "Image", "image ", "reference"])(
    "have none of the name %j: such a file is refused by it",
    (name) => {
      expect(read(MODEL, IMAGE, file(name, PNG))).toEqual(
        refused(`The form has a file in ${name}: send images as image, image[] or image[n].`, name),
      );
      expect(read(MODEL, IMAGE, text(name, "x"))).toEqual({
        model: "m",
        image: ["https://x/1.png"],
        [name]: "x",
      });
    },
  );
});

describe("the required fields of a form", () => {
  it.each<[string, readonly FieldPart[], string, string]>([
    ["nothing", [], "model is required", "model"],
    ["no model", [IMAGE], "model is required", "model"],
    ["an empty model", [text("model", ""), IMAGE], "model is required", "model"],
    ["a model and no image", [MODEL, text("prompt", "x")], "image is required", "image"],
  ])("%s is refused", (_what, parts, message, param) => {
    expect(read(...parts)).toEqual(refused(new RegExp(`^${message}$`), param));
  });

  it("may be in any order", () => {
    expect(read(IMAGE, text("prompt", "x"), MODEL)).toMatchObject({ model: "m", prompt: "x" });
  });

  it.each([file("mask", PNG), text("mask", "x")])("a mask is passed on to the family", (mask) => {
    expect(read(MODEL, IMAGE, mask)).toHaveProperty("mask");
    expect(read(MODEL, mask)).toHaveProperty("mask");
  });
});

describe("the fields of a form", () => {
  it.each<[string, string, unknown]>([
    ["n", "3", 3],
    ["n", "-1", -1],
    ["n", "2.5", 2.5],
    ["n", "abc", "abc"],
    ["n", "", ""],
    ["n", " 3", " 3"],
    ["n", "1e3", "1e3"],
    ["n", "0x10", "0x10"],
    ["n", "Infinity", "Infinity"],
    ["seed", "0", 0],
    ["seed", "2147483647", 2_147_483_647],
    ["guidance_scale", "7.5", 7.5],
    ["guidance_scale", "7", 7],
    ["watermark", "true", true],
    ["layer_decomposition", "true", true],
    ["watermark", "false", false],
    ["watermark", "True", "True"],
    ["watermark", "1", "1"],
    ["stream", "true", true],
    ["size", "2048", "2048"],
    ["prompt", "3", "3"],
    ["prompt", "true", "true"],
    ["prompt", '{"a":1}', '{"a":1}'],
    ["unknown", "3", "3"],
    ["unknown[key]", "3", "3"],
    ["sequential_image_generation", "auto", "auto"],
    ["sequential_image_generation_options", '{"max_images":4}', { max_images: 4 }],
    ["sequential_image_generation_options", "null", null],
    ["optimize_prompt_options", '{"mode":"fast"}', { mode: "fast" }],
  ])("%s of %j is %j", (name, value, expected) => {
    expect(read(MODEL, IMAGE, text(name, value))).toEqual({
      model: "m",
      image: ["https://x/1.png"],
      [name]: expected,
    });
  });

  it("may be fields of an object, in brackets", () => {
    const name = "sequential_image_generation_options";
    const parts = [
      text(`${name}[max_images]`, "4"),
      text(`${name}[mode]`, "fast"),
      text(`${name}[x]`, "2.5"),
    ];
    expect(read(MODEL, IMAGE, ...parts)).toMatchObject({ [name]: { max_images: 4, mode: "fast", x: 2.5 } });
  });

  it("may be fields of an object, in JSON and in brackets", () => {
    const name = "sequential_image_generation_options";
    const parts = [text(name, '{"mode":"fast"}'), text(`${name}[max_images]`, "4")];
    expect(read(MODEL, IMAGE, ...parts)).toMatchObject({ [name]: { max_images: 4, mode: "fast" } });
  });

  it.each(["__proto__", "constructor", "hasOwnProperty", "toString"])("may have the name %s", (name) => {
    const fields = read(MODEL, IMAGE, text(name, "x"));
    expect(Object.getOwnPropertyDescriptor(fields, name)?.value).toBe("x");
    expect(Object.getPrototypeOf(fields)).toBe(Object.prototype);
  });

  it.each<[string, readonly FieldPart[], string]>([
    ["prompt", [text("prompt", "a"), text("prompt", "a")], "prompt"],
    ["model", [text("model", "m")], "model"],
    ["n", [text("n", "1"), text("n", "2")], "n"],
    ["__proto__", [text("__proto__", "1"), text("__proto__", "2")], "__proto__"],
    [
      "a field of an object",
      [text("optimize_prompt_options[mode]", "fast"), text("optimize_prompt_options[mode]", "fast")],
      "optimize_prompt_options[mode]",
    ],
    [
      "a field of an object, in JSON and in brackets",
      [text("optimize_prompt_options", '{"mode":"fast"}'), text("optimize_prompt_options[mode]", "fast")],
      "optimize_prompt_options[mode]",
    ],
    [
      "an object in brackets, and as JSON",
      [text("optimize_prompt_options[mode]", "fast"), text("optimize_prompt_options", "{}")],
      "optimize_prompt_options",
    ],
    [
      "an object that is null, and in brackets",
      [text("optimize_prompt_options", "null"), text("optimize_prompt_options[mode]", "fast")],
      "optimize_prompt_options",
    ],
  ])("given twice are refused: %s", (_what, parts, param) => {
    expect(read(MODEL, IMAGE, ...parts)).toEqual(refused(`The form has the field ${param} twice.`, param));
  });

  it.each(["{", "max_images=4", "", "[1]", "{'max_images':4}"])(
    "that should be JSON and are %j are refused",
    (value) => {
      expect(read(MODEL, IMAGE, text("sequential_image_generation_options", value))).toEqual(
        refused(
          /must be a JSON object, such as \{"max_images": 4\}\.$/,
          "sequential_image_generation_options",
        ),
      );
    },
  );

  it.each([
    ["deeper than a body may be", `{"a":${"[".repeat(40)}${"]".repeat(40)}}`, /nested deeper/],
    ["of more values than any request needs", `{"a":[${"0,".repeat(200_000)}0]}`, /more than 1000 values/],
    ["of a key given twice", '{"max_images":1,"max_images":15}', /max_images is given twice/],
  ])("that are JSON %s are refused", (_what, value, message) => {
    expect(read(MODEL, IMAGE, text("sequential_image_generation_options", value))).toMatchObject({
      status: 400,
      message: expect.stringMatching(message),
    });
  });
});

function convertList(value: string): unknown {
  return convertFormFields({ boxes: value }, { boxes: "list" });
}

describe("a field that is a list", () => {
  it.each([
    ["[]", []],
    ['[[1,2],{"a":null}]', [[1, 2], { a: null }]],
    ["null", null],
  ])("is read from %s", (value, expected) => {
    expect(convertList(value)).toEqual({ boxes: expected });
  });

  it.each(["", "{}", "1", "[", "1,2", '[],"other":1', '[],"list":[]', `${"[".repeat(40)}${"]".repeat(40)}`])(
    "is refused if it is %s",
    (value) => {
      expect(() => convertList(value)).toThrow(expect.objectContaining({ status: 400 }));
    },
  );
});
