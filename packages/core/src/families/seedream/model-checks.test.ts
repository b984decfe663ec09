import { describe, expect, it } from "vitest";
import { createTestGateway, refusal } from "../../testing/test-gateway.js";

const VERSION_5_5 = "seedream-5-5-261028";
const PRO = "dola-seedream-5-0-pro-260628";
const FLASH = "seedream-5-0-flash-260915";
const LITE = "seedream-5-0-260128";
const VERSION_4_0 = "seedream-4-0-250828";
const UNKNOWN = "ep-20261101-abcde";

const LINK = "https://example.com/a.png";
const PNG = "data:image/png;base64,iVBORw0KGgo=";
const JPEG = "data:image/jpeg;base64,/9j/4A==";
const HEIC = "data:image/heic;base64,AAAA";

const MODELS = Object.fromEntries(
  [VERSION_5_5, PRO, FLASH, LITE, VERSION_4_0, UNKNOWN].map((name) => [name, { family: "seedream" }]),
);

interface Outcome {
  readonly status: number;
  readonly body: object;
  /** What Ark gets, without the model. */
  readonly sent: object | undefined;
  readonly ignored: string | null;
}

async function send(model: string, fields: object, path: "post" | "postNative" = "post"): Promise<Outcome> {
  const gateway = createTestGateway(undefined, { models: MODELS });
  const { status, body, headers } = await gateway[path]({ model, prompt: "a fox", ...fields });
  const { model: _model, ...sent } = gateway.calls[0]?.body ?? {};
  const isSent = gateway.calls.length > 0;
  return { status, body, sent: isSent ? sent : undefined, ignored: headers.get("x-calotype-ignored") };
}

type Accepted = readonly [what: string, model: string, fields: object, sent?: object];

/** Without `sent`, the fields are forwarded as they are. */
const accepted: readonly Accepted[] = [
  ["disabled", VERSION_5_5, { sequential_image_generation: "disabled" }, {}],
  ["no stream", PRO, { stream: false }, {}],
  ["both", FLASH, { sequential_image_generation: "disabled", stream: false, seed: 1 }, { seed: 1 }],
  ["one image", VERSION_5_5, { sequential_image_generation_options: { max_images: 1 } }, {}],
  [
    "disabled with options, which then have no effect",
    VERSION_5_5,
    { sequential_image_generation: "disabled", sequential_image_generation_options: { max_images: 4 }, n: 4 },
    {},
  ],
  ["disabled of a model that knows it", LITE, { sequential_image_generation: "disabled", stream: false }],
  ["disabled of an unknown model", UNKNOWN, { sequential_image_generation: "disabled", stream: false }],

  ["a preset", VERSION_5_5, { size: "1.5K" }],
  ["a preset in lower case", PRO, { size: "1.5k" }],
  ["the smallest size", FLASH, { size: "1280x720" }],
  ["the largest size", FLASH, { size: "2150x2150" }],
  ["auto without layers", VERSION_5_5, { size: "auto" }, {}],

  ["10 references", PRO, { image: Array.from({ length: 10 }, () => LINK) }],
  ["jpeg", LITE, { output_format: "jpeg" }],
  ["PNG in capitals", VERSION_5_5, { output_format: "PNG" }],
  ["webp of a model on which it has no effect", VERSION_4_0, { output_format: "webp" }],

  ["the background auto", VERSION_5_5, { background: "auto" }],
  ["an opaque background as jpeg", PRO, { background: "opaque", output_format: "jpeg" }],
  ["a transparent background", VERSION_5_5, { background: "transparent" }],
  ["a transparent background as png", FLASH, { background: "transparent", output_format: "png" }],
  ["a transparent background and a JPEG", VERSION_5_5, { background: "transparent", image: JPEG }],
  ["a transparent background and a PNG", PRO, { background: "transparent", image: PNG }],
  ["a transparent background and a link", PRO, { background: "transparent", image: [LINK] }],
  ["a transparent background and a PNG among others", PRO, { background: "transparent", image: [JPEG, PNG] }],

  ["layers", VERSION_5_5, { layer_decomposition: true, image: LINK }],
  ["layers of a list of one image", PRO, { layer_decomposition: true, image: [PNG], size: "2K" }],
  ["layers with the size auto", FLASH, { layer_decomposition: true, image: JPEG, size: "auto" }],
  [
    "layers with the size adaptive",
    FLASH,
    { layer_decomposition: true, image: JPEG, size: "adaptive" },
    { layer_decomposition: true, image: JPEG },
  ],
  ["layers and an opaque background", PRO, { layer_decomposition: true, image: PNG, background: "opaque" }],
  [
    "a transparent background without layers",
    VERSION_5_5,
    { layer_decomposition: false, background: "transparent" },
  ],
  [
    "layers of an unknown model",
    UNKNOWN,
    { layer_decomposition: true, image: [LINK, HEIC], size: "1024x1024" },
  ],
  [
    "auto with layers of an unknown model",
    UNKNOWN,
    { layer_decomposition: true, size: "auto" },
    { layer_decomposition: true },
  ],
];

type Refused = readonly [what: string, model: string, fields: object, param: string, message: RegExp];

const OPTIONS = "sequential_image_generation_options.max_images";
const refused: readonly Refused[] = [
  [
    "auto",
    VERSION_5_5,
    { sequential_image_generation: "auto" },
    "sequential_image_generation",
    /makes one image per call: leave it out/,
  ],
  [
    "auto for one image",
    PRO,
    { sequential_image_generation: "auto", sequential_image_generation_options: { max_images: 1 } },
    "sequential_image_generation",
    /one image per call/,
  ],
  [
    "several images",
    FLASH,
    { sequential_image_generation_options: { max_images: 2 } },
    OPTIONS,
    /one image per call/,
  ],
  ["a stream", VERSION_5_5, { stream: true }, "stream", /not supported by this model: leave it out/],
  ["a stream of Flash", FLASH, { stream: true }, "stream", /not supported by this model/],
  [
    "a size below the limit",
    PRO,
    { size: "1024x768" },
    "size",
    /1K, or 1\.5K, or 2K, or .*921600 to 4624220/,
  ],
  ["a size above the limit", PRO, { size: "2160x2160" }, "size", /921600 to 4624220/],
  ["a preset of others", VERSION_5_5, { size: "4K" }, "size", /1\.5K/],
  ["1.5K of others", LITE, { size: "1.5K" }, "size", /2K, or 3K, or 4K/],
  ["11 references", FLASH, { image: Array.from({ length: 11 }, () => LINK) }, "image", /at most 10/],
  [
    "webp",
    LITE,
    { output_format: "webp" },
    "output_format",
    /"webp" is not supported by this model: send "png" or "jpeg"/,
  ],
  ["an empty output format", PRO, { output_format: "" }, "output_format", /"png" or "jpeg"/],
  [
    "an unknown background",
    PRO,
    { background: "blue" },
    "background",
    /send "auto" or "transparent" or "opaque"/,
  ],
  ["a background of another type", PRO, { background: true }, "background", /must be a string/],
  [
    "a transparent JPEG",
    VERSION_5_5,
    { background: "transparent", output_format: "JPEG" },
    "output_format",
    /send "png"/,
  ],
  [
    "a transparent background without a reference",
    PRO,
    { background: "transparent" },
    "image",
    /a PNG with an alpha channel/,
  ],
  [
    "a transparent background and a JPEG",
    PRO,
    { background: "transparent", image: [JPEG] },
    "image",
    /a PNG with an alpha channel/,
  ],
  [
    "layers with a transparent background",
    VERSION_5_5,
    { layer_decomposition: true, image: PNG, background: "transparent" },
    "background",
    /not possible with layer_decomposition/,
  ],
  [
    "layers of no image",
    VERSION_5_5,
    { layer_decomposition: true },
    "image",
    /exactly one reference image, not 0/,
  ],
  [
    "layers of two images",
    PRO,
    { layer_decomposition: true, image: [LINK, LINK] },
    "image",
    /exactly one reference image, not 2/,
  ],
  ["layers of a HEIC", PRO, { layer_decomposition: true, image: HEIC }, "image", /image\/heic/],
  [
    "layers with a size in pixels",
    FLASH,
    { layer_decomposition: true, image: LINK, size: "2048x2048" },
    "size",
    /1K, or 1\.5K, or 2K, or auto/,
  ],
  [
    "layers of a model without layers",
    LITE,
    { layer_decomposition: true, image: LINK },
    "layer_decomposition",
    /not supported by this model: leave it out/,
  ],
];

const everyCase: readonly (readonly [string, string, object])[] = [
  ...accepted.map(([what, model, fields]) => [what, model, fields] as const),
  ...refused.map(([what, model, fields]) => [what, model, fields] as const),
];

describe("the row of a model", () => {
  it.each(accepted.map(([what, model, fields, sent = fields]) => [what, model, fields, sent] as const))(
    "accepts %s: %s %j",
    async (_what, model, fields, expected) => {
      const { status, sent, ignored } = await send(model, fields);
      expect({ status, sent, ignored }).toEqual({
        status: 200,
        sent: { prompt: "a fox", ...expected },
        ignored: null,
      });
    },
  );

  it.each(refused)("refuses %s: %s %j", async (_what, model, fields, param, message) => {
    const { status, body, sent } = await send(model, fields);
    expect({ status, body, sent }).toMatchObject({ status: 400, body: refusal(param), sent: undefined });
    expect(body).toMatchObject({ error: { message: expect.stringMatching(message) } });
  });

  it.each([LITE, VERSION_4_0, UNKNOWN])(
    "%s does not know background, so it is left out and named",
    async (model) => {
      for (const background of ["transparent", "auto", 5]) {
        const { status, sent, ignored } = await send(model, { background });
        expect({ status, sent, ignored }).toEqual({
          status: 200,
          sent: { prompt: "a fox" },
          ignored: "background",
        });
      }
    },
  );

  it.each(everyCase)(
    "does not change what the native endpoint forwards: %s, %s %j",
    async (_what, model, fields) => {
      const { n: _n, ...forwarded } = fields as { n?: number };
      expect((await send(model, fields, "postNative")).sent).toEqual({ prompt: "a fox", ...forwarded });
    },
  );
});

describe("a prompt", () => {
  const layers = { layer_decomposition: true, image: LINK };

  it.each([undefined, null, ""])("that is %j is left out with layers", async (prompt) => {
    const { status, sent } = await send(PRO, { ...layers, prompt });
    expect({ status, sent }).toEqual({ status: 200, sent: layers });
  });

  it.each([undefined, null, ""])(
    "that is %j is forwarded as sent with layers on the native endpoint",
    async (prompt) => {
      const { status, sent } = await send(PRO, { ...layers, prompt }, "postNative");
      expect({ status, sent }).toEqual({
        status: 200,
        sent: prompt === undefined ? layers : { ...layers, prompt },
      });
    },
  );

  it("must be a string with layers, too", async () => {
    for (const path of ["post", "postNative"] as const)
      expect(await send(PRO, { ...layers, prompt: 5 }, path)).toMatchObject({
        status: 400,
        body: refusal("prompt"),
      });
  });

  it("is required if the layers are not asked for", async () => {
    for (const path of ["post", "postNative"] as const) {
      const fields = { prompt: undefined, layer_decomposition: false, image: LINK };
      expect(await send(PRO, fields, path)).toMatchObject({ status: 400, body: refusal("prompt") });
    }
  });
});

describe("the hold", () => {
  it.each([
    [VERSION_5_5, 100],
    [PRO, 17],
    [FLASH, 17],
    [UNKNOWN, 100],
  ])("of layers counts what %s can make: %i images", async (model, images) => {
    const seen: unknown[] = [];
    const { post } = createTestGateway(undefined, {
      models: MODELS,
      beforeSend: ({ maxImages, maxPixels }) => void seen.push([maxImages, maxPixels]),
    });
    expect((await post({ model, layer_decomposition: true, image: LINK, size: "auto" })).status).toBe(200);
    expect(seen).toEqual([[images, model === UNKNOWN ? undefined : 4_624_220]]);
  });
});
