import { describe, expect, it } from "vitest";
import { GatewayError } from "../../errors.js";
import { gemini } from "./gemini.js";
import { chooseGeminiSize } from "./size.js";

const BANANA = "gemini-nano-banana-2.1";
const PRO = "gemini-3-pro-image";
const LITE = "gemini-3.1-flash-lite-image";
const FLASH = "gemini-2.5-flash-image";

function choose(model: string, fields: object, sizes?: "nearest") {
  return chooseGeminiSize(fields, { capabilities: gemini.findCapabilities?.(model), sizes });
}

type Case = readonly [model: string, fields: object, ratio?: string | undefined, tier?: string];

const EXACT: readonly Case[] = [
  [BANANA, {}],
  [BANANA, { size: "auto" }],
  [BANANA, { size: "1024x1024" }, "1:1"],
  [BANANA, { size: "1376x768" }, "16:9"],
  [BANANA, { size: "2752x1536" }, "16:9", "2K"],
  [BANANA, { size: "6336x2688" }, "21:9", "4K"],
  [BANANA, { size: "512x512" }, "1:1", "512"],
  [BANANA, { size: "192x1536" }, "1:8", "512"],
  [BANANA, { size: "12288x1536" }, "8:1", "4K"],
  [BANANA, { size: "512" }, undefined, "512"],
  [BANANA, { size: "2k" }, undefined, "2K"],
  [BANANA, { size: "1K" }],
  [BANANA, { size: "16:9" }, "16:9"],
  [BANANA, { size: "16:9", resolution: "2K" }, "16:9", "2K"],
  [BANANA, { aspect_ratio: "9:16", resolution: "4k" }, "9:16", "4K"],
  [BANANA, { aspect_ratio: "1:8" }, "1:8"],
  [BANANA, { resolution: "512" }, undefined, "512"],
  [PRO, { size: "1856x2304" }, "4:5", "2K"],
  [LITE, { size: "3072x384" }, "8:1"],
  [LITE, { size: "1K" }],
  [FLASH, { size: "1344x768" }, "16:9"],
  ["gemini-9-image", { size: "1920x1080" }, "16:9"],
  ["gemini-9-image", { size: "4K" }, undefined, "4K"],
  ["gemini-9-image", { aspect_ratio: "1:4" }, "1:4"],
];

const NEAREST: readonly Case[] = [
  [BANANA, { size: "1536x1024" }, "3:2"],
  [BANANA, { size: "1024x1792" }, "9:16"],
  [BANANA, { size: "3840x2160" }, "16:9", "2K"],
  [BANANA, { size: "7000x1000" }, "8:1", "2K"],
  [BANANA, { size: "8K" }, undefined, "4K"],
  [BANANA, { size: "16:9" }, "16:9"],
  [BANANA, { size: "16:9", resolution: "2K" }, "16:9", "2K"],
  [BANANA, { aspect_ratio: "16:9" }, "16:9"],
  [BANANA, { aspect_ratio: "16:9", resolution: "4K" }, "16:9", "4K"],
  [BANANA, { aspect_ratio: "auto", resolution: "2K" }, undefined, "2K"],
  [PRO, { size: "8:1" }, "21:9"],
  [LITE, { size: "4096x4096" }, "1:1"],
  [LITE, { resolution: "4K" }, "1:1"],
  [FLASH, { size: "1:8" }, "9:16"],
];

describe.each([
  { mode: "strict", sizes: undefined, cases: EXACT },
  { mode: "nearest", sizes: "nearest", cases: NEAREST },
] as const)("with sizes: $mode", ({ sizes, cases }) => {
  const named = cases.map(([model, fields, ratio, tier]) => ({
    name: `${model} takes ${JSON.stringify(fields)} as ratio ${ratio ?? "of its own"} and tier ${tier ?? "of its own"}`,
    model,
    fields,
    ratio,
    tier,
  }));

  it.each(named)("$name", ({ model, fields, ratio, tier }) => {
    const { imageConfig } = choose(model, fields, sizes);
    const expected = {
      ...(ratio !== undefined && { aspectRatio: ratio }),
      ...(tier !== undefined && { imageSize: tier }),
    };
    expect(imageConfig).toEqual(Object.keys(expected).length === 0 ? undefined : expected);
  });
});

describe("a size that the model does not make", () => {
  it.each([
    [BANANA, { size: "1536x1024" }, "size"],
    [BANANA, { size: "8K" }, "size"],
    [BANANA, { size: "7:3" }, "size"],
    [BANANA, { size: "1024*1024" }, "size"],
    [BANANA, { aspect_ratio: "7:3" }, "aspect_ratio"],
    [BANANA, { aspect_ratio: 1 }, "aspect_ratio"],
    [BANANA, { resolution: "8K" }, "resolution"],
    [PRO, { size: "512x512" }, "size"],
    [PRO, { resolution: "512" }, "resolution"],
    [PRO, { aspect_ratio: "1:8" }, "aspect_ratio"],
    [LITE, { size: "2K" }, "size"],
    [LITE, { resolution: "2K" }, "resolution"],
    [FLASH, { size: "1376x768" }, "size"],
  ])("%s refuses %j", (model, fields, param) => {
    const refusal = (): unknown => choose(model, fields);
    expect(refusal).toThrow(GatewayError);
    expect(refusal).toThrow(expect.objectContaining({ param }));
  });

  it.each([{ size: "large" }, { size: "wide:1" }, { aspect_ratio: "wide" }, { resolution: "huge" }])(
    "%j is refused with sizes: nearest too",
    (fields) => {
      expect(() => choose(BANANA, fields, "nearest")).toThrow(GatewayError);
    },
  );
});

describe("a size", () => {
  it.each([
    [BANANA, {}, 512 * 2304],
    [BANANA, { size: "4K" }, 4096 * 4096 * 1.2],
    [BANANA, { size: "1376x768" }, 1376 * 768],
    [FLASH, {}, 1024 * 1050],
  ])("%s bounds the pixels of %j", (model, fields, most) => {
    const { maxPixels = 0 } = choose(model, fields);
    expect(maxPixels).toBeGreaterThan(most / 2);
    expect(maxPixels).toBeLessThanOrEqual(most * 1.01);
  });

  it("of an unknown model bounds no pixels without a size", () => {
    expect(choose("gemini-9-image", {}).maxPixels).toBeUndefined();
  });

  it("comes before aspect_ratio and resolution, which are then ignored", () => {
    const fields = { size: "1024x1024", aspect_ratio: "16:9", resolution: "2K" };
    for (const sizes of [undefined, "nearest"] as const) {
      const { imageConfig, ignored } = choose(BANANA, fields, sizes);
      expect(imageConfig).toEqual({ aspectRatio: "1:1" });
      expect(ignored).toEqual(["aspect_ratio", "resolution"]);
    }
  });

  it("is refused or ignored if the model takes none", () => {
    const none = { size: "none" } as const;
    expect(chooseGeminiSize({}, { capabilities: none }).imageConfig).toBeUndefined();
    const take = (sizes?: "nearest") => chooseGeminiSize({ size: "2K" }, { capabilities: none, sizes });
    expect(() => take()).toThrow(expect.objectContaining({ param: "size" }));
    expect(take("nearest").imageConfig).toBeUndefined();
    expect(take("nearest").ignored).toEqual(["size"]);
  });
});
