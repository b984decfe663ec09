import { describe, expect, it } from "vitest";
import { createEmulator } from "../emulator.js";
import { type ArkBody, askArk } from "../test-support/ask.js";
import { dataUrl } from "../test-support/images.js";

const [v55, pro, flash, lite, v45, v40] = [
  "doubao-seedream-5-5-261028",
  "doubao-seedream-5-0-pro-260628",
  "doubao-seedream-5-0-flash-260915",
  "doubao-seedream-5-0-lite-260128",
  "doubao-seedream-4-5-251128",
  "doubao-seedream-4-0-250828",
];

describe("the names of Ark's models", () => {
  it.each([
    v55,
    "dola-seedream-5-5-261028",
    "seedream-5-5-261028",
    pro,
    "dola-seedream-5-0-pro-260628",
    flash,
    "dola-seedream-5-0-flash-260915",
    lite,
    "doubao-seedream-5-0-260128",
    "seedream-5-0-260128",
    "seedream-5-0-lite-260128",
    v45,
    "seedream-4-5-251128",
    v40,
    "seedream-4-0-250828",
  ])("include %s", async (model) => {
    const { status, body } = await askArk(createEmulator({ images: "tiny" }), { model });
    expect([status, body.model]).toEqual([200, model]);
  });

  it.each([
    "doubao-seedream-5-5",
    "doubao-seedream-5-0-pro",
    "dola-seedream-5-0-flash",
    "seedream-5-0-lite",
    "seedream-5-0",
    "seedream-4-5",
    "doubao-seedream-4-0",
    "dola-seedream-4-5-251128",
    "doubao-seedream-5-0-pro-260629",
    "ep-unknown",
    "qwen-image-max",
    "toString",
  ])("do not include %s", async (model) => {
    const { status, body } = await askArk(createEmulator(), { model });
    expect(status).toBe(404);
    expect(body.error.code).toBe("InvalidEndpointOrModel.NotFound");
    expect(body.error.message).toMatch(
      new RegExp(
        `^The model or endpoint ${model} does not exist or you do not have access to it\\. Request id: `,
      ),
    );
  });
});

const links = (count: number) => Array.from({ length: count }, () => "https://example.com/a.png");
const alpha = await dataUrl({ alpha: true });
const plain = await dataUrl();
const webpWithAlpha = await dataUrl({ alpha: true, format: "webp" });
const heic = `data:image/heic;base64,${Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from("ftypheic"), Buffer.alloc(64)]).toString("base64")}`;
const layers = (fields: object) => ({ layer_decomposition: true, image: plain, ...fields });
const auto = { sequential_image_generation: "auto" };
const atMost = (max_images: number) => ({ ...auto, sequential_image_generation_options: { max_images } });

/** For each model in this order: the images' sizes and formats, or the status and the field that is refused. */
const columns = [v55, pro, flash, lite, v45, v40] as const;
const usual = "2048x2048 jpeg";
const png = "2048x2048 png";
const all = (cell: string) => columns.map(() => cell);
/** The three models that make one image per call, then the three that make batches. */
const split = (one: string, batches: string) => [one, one, one, batches, batches, batches];
const square = (side: number) => `${side}x${side} jpeg`;
const size = "400 size";

const rows: readonly (readonly [string, object, readonly string[]])[] = [
  ["nothing", {}, all(usual)],
  ["size 1K", { size: "1K" }, [square(1024), square(1024), square(1024), size, size, square(1024)]],
  ["size 1.5k", { size: "1.5k" }, split(square(1536), size)],
  ["size 2K", { size: "2K" }, all(usual)],
  ["size 3K", { size: "3K" }, [size, size, size, square(3072), size, size]],
  ["size 4k", { size: "4k" }, split(size, square(4096))],
  ["size auto", { size: "auto" }, all(size)],
  ["size adaptive", { size: "adaptive" }, all(size)],
  ["1.5K at 16:9", { size: "1.5K", prompt: "a fox, 16:9" }, split("2136x1200 jpeg", size)],
  ["2K at 16:9", { size: "2K", prompt: "a fox, 16:9" }, all("2848x1600 jpeg")],
  [
    "921,600 pixels",
    { size: "1280x720" },
    ["1280x720 jpeg", "1280x720 jpeg", "1280x720 jpeg", size, size, "1280x720 jpeg"],
  ],
  ["920,880 pixels", { size: "1279x720" }, all(size)],
  ["3,686,400 pixels", { size: "2560x1440" }, all("2560x1440 jpeg")],
  [
    "3,684,960 pixels",
    { size: "2559x1440" },
    ["2559x1440 jpeg", "2559x1440 jpeg", "2559x1440 jpeg", size, size, "2559x1440 jpeg"],
  ],
  ["4,624,220 pixels", { size: "1634x2830" }, all("1634x2830 jpeg")],
  ["4,627,050 pixels", { size: "1635x2830" }, split(size, "1635x2830 jpeg")],
  ["16,777,216 pixels", { size: "4096x4096" }, split(size, square(4096))],
  ["16,781,312 pixels", { size: "4097x4096" }, all(size)],
  ["512x512", { size: "512x512" }, all(size)],
  ["1500x1500", { size: "1500x1500" }, [square(1500), square(1500), square(1500), size, size, square(1500)]],
  ["3750x1250", { size: "3750x1250" }, split(size, "3750x1250 jpeg")],
  ["16:1", { size: "7680x480" }, all("7680x480 jpeg")],
  ["more than 16:1", { size: "7696x480" }, all(size)],
  ["1:16", { size: "480x7680" }, all("480x7680 jpeg")],
  ["10 references", { image: links(10) }, all(usual)],
  ["11 references", { image: links(11) }, split("400 image", usual)],
  ["14 references", { image: links(14) }, split("400 image", usual)],
  ["15 references", { image: links(15) }, all("400 image")],
  ["a HEIC reference", { image: heic }, all(square(2048))],
  ["a batch of 2", atMost(2), split("400 sequential_image_generation", `${usual}, ${usual}`)],
  [
    "a batch of 1 with 14 references",
    { ...atMost(1), image: links(14) },
    split("400 sequential_image_generation", usual),
  ],
  [
    "a batch of 2 with 14 references",
    { ...atMost(2), image: links(14) },
    split("400 sequential_image_generation", "400 sequential_image_generation_options.max_images"),
  ],
  [
    "a batch of 16",
    atMost(16),
    split("400 sequential_image_generation", "400 sequential_image_generation_options.max_images"),
  ],
  [
    "sequential_image_generation disabled",
    { sequential_image_generation: "disabled" },
    split("400 sequential_image_generation", usual),
  ],
  ["sequential_image_generation null", { sequential_image_generation: null }, all(usual)],
  ["stream false", { stream: false }, split("400 stream", usual)],
  ["stream null", { stream: null }, all(usual)],
  ["output_format png", { output_format: "png" }, [png, png, png, png, usual, usual]],
  ["output_format jpeg", { output_format: "jpeg" }, all(usual)],
  ["output_format webp", { output_format: "webp" }, all("400 output_format").with(4, usual).with(5, usual)],
  ["background opaque", { background: "opaque" }, all(usual)],
  ["background auto", { background: "auto" }, all(usual)],
  ["background blue", { background: "blue" }, split("400 background", usual)],
  [
    "background transparent",
    { background: "transparent" },
    [png, "400 background", png, usual, usual, usual],
  ],
  [
    "background transparent with a PNG with alpha",
    { background: "transparent", image: alpha },
    split(png, usual),
  ],
  [
    "background transparent with a PNG without alpha",
    { background: "transparent", image: plain },
    [png, "400 background", png, usual, usual, usual],
  ],
  [
    "background transparent with a WebP with alpha",
    { background: "transparent", image: webpWithAlpha },
    [png, "400 background", png, usual, usual, usual],
  ],
  [
    "background transparent with an image that is not downloaded",
    { background: "transparent", image: links(1) },
    split(png, usual),
  ],
  [
    "background transparent with output_format jpeg",
    { background: "transparent", output_format: "jpeg", image: alpha },
    split("400 background", usual),
  ],
  [
    "background transparent with output_format png",
    { background: "transparent", output_format: "png", image: alpha },
    [png, png, png, png, usual, usual],
  ],
  [
    "background transparent with layers",
    layers({ background: "transparent", image: alpha }),
    split("400 background", usual),
  ],
  ["layers with a size in pixels", layers({ size: "2048x2048" }), split("400 size", usual)],
  ["layers of 3K", layers({ size: "3K" }), split("400 size", size).with(3, square(3072))],
  ["layers without an image", layers({ image: null }), split("400 image", usual)],
  ["layers of two images", layers({ image: [plain, plain] }), split("400 image", usual)],
  ["layers of a HEIC image", layers({ image: heic }), split("400 image", usual)],
  [
    "layer_decomposition that is a string",
    layers({ layer_decomposition: "true" }),
    split("400 layer_decomposition", usual),
  ],
  ["layer_decomposition false", layers({ layer_decomposition: false }), all(usual)],
  ["no prompt", { prompt: null }, all("400 prompt")],
  [
    "optimize_prompt_options.mode fast",
    { optimize_prompt_options: { mode: "fast" } },
    all("400 optimize_prompt_options.mode").with(5, usual),
  ],
  ["optimize_prompt_options.mode standard", { optimize_prompt_options: { mode: "standard" } }, all(usual)],
  ["fields without effect", { seed: 7, guidance_scale: 2.5, n: 4, quality: "high", user: "u" }, all(usual)],
];

function summarize(status: number, { data, error }: ArkBody): string {
  if (status !== 200) return `${status} ${error.param}`;
  return data.map((item) => `${item.size} ${/\.(\w+)\?/.exec(item.url ?? "")?.[1]}`).join(", ");
}

describe.each(rows)("%s", (_name, fields, cells) => {
  it.each(columns.map((model, index) => [model, cells[index]]))("on %s: %s", async (model, cell) => {
    const { status, body } = await askArk(createEmulator({ images: "tiny" }), { model, ...fields });
    expect(summarize(status, body)).toBe(cell);
  });
});

describe("what the response of a model contains", () => {
  it.each([
    [v55, ["url", "size", "output_format"], 0],
    [pro, ["url", "size", "output_format"], 2],
    [flash, ["url", "size", "output_format"], 0],
    [lite, ["url", "size", "output_format"], undefined],
    [v45, ["url", "size"], undefined],
    [v40, ["url", "size"], undefined],
  ])("%s: %j, and input_images %s for three references", async (model, keys, inputImages) => {
    const { body } = await askArk(createEmulator({ images: "tiny" }), { model, image: links(3) });
    expect(Object.keys(body.data[0] ?? {})).toEqual(keys);
    expect(body.usage?.input_images).toBe(inputImages);
  });

  it.each([0, 1])("5.0 Pro charges none of %i references", async (count) => {
    const { body } = await askArk(createEmulator({ images: "tiny" }), { model: pro, image: links(count) });
    expect(body.usage?.input_images).toBe(0);
  });

  it.each(columns)("%s reports a web search only if it searches", async (model) => {
    const tools = [{ type: "web_search" }];
    const { text } = await askArk(createEmulator({ images: "tiny" }), { model, tools });
    const { usage, tools: reported } = JSON.parse(text) as { usage: object; tools?: object };
    expect(reported).toEqual(model === lite ? tools : undefined);
    expect("tool_usage" in usage).toBe(model === lite);
  });
});
