import { describe, expect, it } from "vitest";
import type { ImageRequest, Operation } from "../types.js";
import type { Family } from "./family.js";
import { gemini } from "./gemini/gemini.js";
import { qwenImage } from "./qwen-image/qwen-image.js";
import { seedream } from "./seedream/seedream.js";

const IMAGE = "https://example.com/a.png";

/** A model of each kind: those that know `background`, and those that do not. */
const MODELS: readonly {
  readonly family: Family;
  readonly model: string;
  readonly takesBackground: boolean;
}[] = [
  { family: seedream, model: "seedream-4-5", takesBackground: false },
  { family: seedream, model: "seedream-5-0-pro", takesBackground: true },
  { family: seedream, model: "ep-1", takesBackground: false },
  { family: qwenImage, model: "qwen-image-2.0", takesBackground: false },
  { family: gemini, model: "gemini-3-pro-image", takesBackground: false },
];

const OPERATIONS: readonly Operation[] = ["generate", "edit"];

const CASES = MODELS.flatMap((model) => OPERATIONS.map((operation) => ({ ...model, operation })));

function normalize(
  { family, model, operation }: Omit<(typeof CASES)[number], "takesBackground">,
  fields: object,
): ImageRequest {
  return family.normalize(
    { prompt: "a fox", image: IMAGE, ...fields },
    { operation, model, capabilities: family.findCapabilities?.(model), defaultResponseFormat: undefined },
  );
}

const WITHOUT_EFFECT: readonly (readonly [string, unknown])[] = [
  ["quality", "auto"],
  ["style", "vivid"],
  ["user", "user-1"],
  ["safety_identifier", "user-1"],
  ["moderation", "low"],
  ["input_fidelity", "high"],
  ["output_compression", 90],
  ["partial_images", 2],
  ["complexity", "high"],
  ["frame_count", 4],
  ["frame_duration_ms", 100],
  ["svg", { model: "x" }],
];

describe.each(CASES)("$operation with $model", ({ takesBackground, ...request }) => {
  it.each(WITHOUT_EFFECT)("ignores %s and names it", (name, value) => {
    const { ignored, upstreamFields } = normalize(request, { [name]: value });
    expect(ignored).toEqual([name]);
    expect(JSON.stringify(upstreamFields)).not.toContain(`"${name}":`);
  });

  it("ignores the parts of svg in a form and names svg once", () => {
    const { ignored, upstreamFields } = normalize(request, { "svg[model]": "x", "svg[detail]": "high" });
    expect(ignored).toEqual(["svg"]);
    expect(JSON.stringify(upstreamFields)).not.toContain("svg");
  });

  it(`${takesBackground ? "sends" : "ignores"} background`, () => {
    const { ignored, upstreamFields } = normalize(request, { background: "auto" });
    expect(ignored).toEqual(takesBackground ? [] : ["background"]);
    expect(upstreamFields["background"]).toBe(takesBackground ? "auto" : undefined);
  });

  it.each([
    ["mask", "mask"],
    ["mask[image_url]", "mask"],
    ["markup", "markup"],
    ["markup[image_url]", "markup"],
    ["file_id", "file_id"],
  ])("refuses %s", (name, param) => {
    expect(() => normalize(request, { [name]: "x" })).toThrow(
      expect.objectContaining({ status: 400, param }),
    );
  });

  it("does not take other fields for those of OpenAI", () => {
    const { ignored } = normalize(request, { svgs: 1, "x[svg]": 1, masked: 1 });
    expect(ignored.filter((name) => ["svg", "mask"].includes(name))).toEqual([]);
  });
});
