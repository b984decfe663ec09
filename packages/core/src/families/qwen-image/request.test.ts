import { describe, expect, it } from "vitest";
import { createTestGateway, refusal } from "../../testing/test-gateway.js";

const A = "https://example.com/a.png";
const DATA = "data:image/png;base64,AAAA";

interface Outcome {
  readonly status: number;
  readonly body: object;
  readonly sent: object | undefined;
  readonly ignored: string | null;
}

/** What DashScope gets of a body, without the model; what it is refused with otherwise. */
async function send(fields: object, model = "image-2.0"): Promise<Outcome> {
  const { post, calls } = createTestGateway();
  const { status, body, headers } = await post({ model, ...fields });
  const { model: _model, ...sent } = calls[0]?.body ?? {};
  return {
    status,
    body,
    sent: calls.length === 0 ? undefined : sent,
    ignored: headers.get("x-calotype-ignored"),
  };
}

const input = (...content: unknown[]): object => ({ messages: [{ role: "user", content }] });
const standard = (rest: object = {}): object => ({ prompt: "-", input: input({ text: "a fox" }), ...rest });

/** Sent with one image, as every model takes it. */
const sendEdit = (parameters: object, model: string): Promise<Outcome> =>
  send(standard({ input: input({ image: A }, { text: "x" }), parameters }), model);

const CONTENT = "input.messages[0].content";

describe("the standard structure", () => {
  it.each<[string, object, object]>([
    ["a text alone", standard(), { input: input({ text: "a fox" }), parameters: {} }],
    [
      "one image",
      standard({ input: input({ image: A }, { text: "x" }) }),
      { input: input({ image: A }, { text: "x" }), parameters: {} },
    ],
    [
      "three images in their order, the text anywhere",
      standard({ input: input({ image: A }, { text: "x" }, { image: DATA }, { image: `${A}?2` }) }),
      { input: input({ image: A }, { text: "x" }, { image: DATA }, { image: `${A}?2` }), parameters: {} },
    ],
    [
      "a data URL in capitals",
      standard({ input: input({ image: "DATA:IMAGE/PNG;BASE64,AAAA" }, { text: "x" }) }),
      { input: input({ image: DATA }, { text: "x" }), parameters: {} },
    ],
    [
      "every parameter",
      standard({
        parameters: {
          n: 2,
          size: "1024*1024",
          watermark: false,
          prompt_extend: true,
          negative_prompt: "",
          seed: 0,
        },
      }),
      {
        input: input({ text: "a fox" }),
        parameters: {
          n: 2,
          size: "1024*1024",
          watermark: false,
          prompt_extend: true,
          negative_prompt: "",
          seed: 0,
        },
      },
    ],
    [
      "unknown fields inside input and parameters",
      {
        prompt: "-",
        input: {
          messages: [{ role: "user", content: [{ text: "x", weight: 0 }], name: null }],
          future: [false],
        },
        parameters: { future: null },
      },
      {
        input: {
          messages: [{ role: "user", content: [{ text: "x", weight: 0 }], name: null }],
          future: [false],
        },
        parameters: { future: null },
      },
    ],
    [
      "null for parameters",
      standard({ parameters: null }),
      { input: input({ text: "a fox" }), parameters: {} },
    ],
    ["stream false", standard({ stream: false }), { input: input({ text: "a fox" }), parameters: {} }],
    [
      "a response format",
      standard({ response_format: "url" }),
      { input: input({ text: "a fox" }), parameters: {} },
    ],
  ])("with %s is forwarded as sent", async (_what, body, expected) => {
    const { status, sent, ignored } = await send(body);
    expect({ status, sent, ignored }).toEqual({ status: 200, sent: expected, ignored: null });
  });

  it("names other top-level fields and leaves them out", async () => {
    const { sent, ignored } = await send(
      standard({ seed: 1, watermark: true, user: "u", "x y": 1, constructor: 2 }),
    );
    expect(ignored).toBe("seed, watermark, user, x%20y, constructor");
    expect(Object.keys(sent ?? {})).toEqual(["input", "parameters"]);
  });

  it("counts names of the object's own, and __proto__, as unknown fields", async () => {
    const { post, calls } = createTestGateway();
    const { status } = await post(
      '{"model":"image-2.0","prompt":"-","__proto__":{"n":9},"input":{"constructor":1,"__proto__":{"prompt":"x"},"messages":[{"role":"user","__proto__":{"a":1},"content":[{"text":"t","__proto__":{"image":"x"}}]}]},"parameters":{"toString":2,"__proto__":{"n":99}}}',
    );
    expect(status).toBe(200);
    expect(calls[0]?.body).toMatchObject({ input: { constructor: 1 }, parameters: { toString: 2 } });
    expect({}).not.toHaveProperty("n");
  });

  it.each<[string, object, string, RegExp]>([
    ["no prompt", standard({ prompt: undefined }), "prompt", /placeholder/],
    ["prompt null", standard({ prompt: null }), "prompt", /placeholder/],
    ["an empty prompt", standard({ prompt: "" }), "prompt", /placeholder/],
    ["a prompt of another type", standard({ prompt: 1 }), "prompt", /string/],
    ["top-level n", standard({ n: 1 }), "n", /parameters\.n/],
    ["top-level size", standard({ size: "1024*1024" }), "size", /parameters\.size/],
    ["top-level image", standard({ image: A }), "image", /input\.messages\[0\]\.content/],
    ["top-level images", standard({ images: [A] }), "images", /input\.messages\[0\]\.content/],
    [
      "top-level negative_prompt",
      standard({ negative_prompt: "x" }),
      "negative_prompt",
      /parameters\.negative_prompt/,
    ],
    ["input.prompt", { prompt: "-", input: { prompt: "x" } }, "input.prompt", /send input\.messages/],
    [
      "input.prompt beside messages",
      standard({ input: { ...input({ text: "x" }), prompt: "" } }),
      "input.prompt",
      /send input\.messages/,
    ],
    [
      "input.negative_prompt",
      standard({ input: { ...input({ text: "x" }), negative_prompt: "x" } }),
      "input.negative_prompt",
      /parameters\.negative_prompt/,
    ],
    [
      "input.images",
      standard({ input: { ...input({ text: "x" }), images: [] } }),
      "input.images",
      /image items/,
    ],
    ["input a text", { prompt: "-", input: "x" }, "input", /object/],
    ["input a list", { prompt: "-", input: [] }, "input", /object/],
    ["no messages", { prompt: "-", input: {} }, "input.messages", /list of one message/],
    ["messages null", { prompt: "-", input: { messages: null } }, "input.messages", /list of one message/],
    ["messages of length 0", { prompt: "-", input: { messages: [] } }, "input.messages", /exactly one/],
    [
      "two messages",
      {
        prompt: "-",
        input: {
          messages: [
            { role: "user", content: [{ text: "x" }] },
            { role: "user", content: [] },
          ],
        },
      },
      "input.messages",
      /exactly one/,
    ],
    ["a message that is a text", { prompt: "-", input: { messages: ["x"] } }, "input.messages[0]", /object/],
    ["a message that is null", { prompt: "-", input: { messages: [null] } }, "input.messages[0]", /object/],
    [
      "no role",
      { prompt: "-", input: { messages: [{ content: [{ text: "x" }] }] } },
      "input.messages[0].role",
      /"user"/,
    ],
    [
      "role system",
      { prompt: "-", input: { messages: [{ role: "system", content: [{ text: "x" }] }] } },
      "input.messages[0].role",
      /"user"/,
    ],
    ["no content", { prompt: "-", input: { messages: [{ role: "user" }] } }, CONTENT, /list of/],
    [
      "content a text",
      { prompt: "-", input: { messages: [{ role: "user", content: "x" }] } },
      CONTENT,
      /list of/,
    ],
    ["content of length 0", standard({ input: input() }), CONTENT, /exactly one text/],
    ["an image alone", standard({ input: input({ image: A }) }), CONTENT, /exactly one text/],
    ["two texts", standard({ input: input({ text: "a" }, { text: "b" }) }), CONTENT, /exactly one text/],
    ["an empty text", standard({ input: input({ text: "" }) }), `${CONTENT}[0].text`, /empty/],
    ["a text of another type", standard({ input: input({ text: 5 }) }), `${CONTENT}[0].text`, /string/],
    ["a text null", standard({ input: input({ text: null }) }), `${CONTENT}[0].text`, /string/],
    [
      "an empty image",
      standard({ input: input({ image: "" }, { text: "x" }) }),
      `${CONTENT}[0].image`,
      /empty/,
    ],
    [
      "an image null beside a text",
      standard({ input: input({ text: "x", image: null }) }),
      `${CONTENT}[0].image`,
      /string/,
    ],
    [
      "an image that is no URL",
      standard({ input: input({ text: "x" }, { image: "a.png" }) }),
      `${CONTENT}[1].image`,
      /http/,
    ],
    [
      "a data URL of another type",
      standard({ input: input({ text: "x" }, { image: "data:image/heic;base64,AAAA" }) }),
      `${CONTENT}[1].image`,
      /heic/,
    ],
    [
      "text and image in one item",
      standard({ input: input({ text: "x", image: A }) }),
      `${CONTENT}[0]`,
      /either text or image/,
    ],
    [
      "an item of neither",
      standard({ input: input({ text: "x" }, { video: A }) }),
      `${CONTENT}[1]`,
      /either text or image/,
    ],
    [
      "an item with images",
      standard({ input: input({ text: "x", images: [A] }) }),
      `${CONTENT}[0]`,
      /either text or image/,
    ],
    ["an item that is a text", standard({ input: input("x") }), `${CONTENT}[0]`, /object/],
    ["an item null", standard({ input: input({ text: "x" }, null) }), `${CONTENT}[1]`, /object/],
    [
      "four images",
      standard({ input: input({ image: A }, { image: A }, { image: A }, { image: A }, { text: "x" }) }),
      CONTENT,
      /0 to 3 reference images, not 4/,
    ],
    [
      "a hundred items and one",
      standard({ input: input(...Array.from({ length: 101 }, () => 1)) }),
      CONTENT,
      /at most three image/,
    ],
    ["parameters a list", standard({ parameters: [] }), "parameters", /object/],
    ["parameters.n 0", standard({ parameters: { n: 0 } }), "parameters.n", /at least 1/],
    ["parameters.n null", standard({ parameters: { n: null } }), "parameters.n", /whole number/],
    ["parameters.n a text", standard({ parameters: { n: "1" } }), "parameters.n", /whole number/],
    ["parameters.n 7", standard({ parameters: { n: 7 } }), "parameters.n", /at most 6/],
    [
      "parameters.size with x",
      standard({ parameters: { size: "1024x1024" } }),
      "parameters.size",
      /<width>\*<height>/,
    ],
    ["parameters.size null", standard({ parameters: { size: null } }), "parameters.size", /string/],
    [
      "parameters.watermark a text",
      standard({ parameters: { watermark: "true" } }),
      "parameters.watermark",
      /true or false/,
    ],
    [
      "parameters.prompt_extend a number",
      standard({ parameters: { prompt_extend: 1 } }),
      "parameters.prompt_extend",
      /true or false/,
    ],
    [
      "parameters.negative_prompt a list",
      standard({ parameters: { negative_prompt: [] } }),
      "parameters.negative_prompt",
      /string/,
    ],
    ["a response format of its own", standard({ response_format: "png" }), "response_format", /b64_json/],
    ["stream true", standard({ stream: true }), "stream", /not offered/],
    ["stream a text", standard({ stream: "true" }), "stream", /true or false/],
  ])("with %s is refused", async (_what, body, param, message) => {
    expect(await send(body)).toMatchObject({
      status: 400,
      body: {
        error: {
          type: "invalid_request_error",
          code: "invalid_request_error",
          param,
          message: expect.stringMatching(message),
        },
      },
      sent: undefined,
    });
  });

  it("refuses a size with x also for models without a row of limits", async () => {
    expect(await send(standard({ parameters: { size: "1024x1024" } }), "sketch")).toMatchObject({
      status: 400,
      body: refusal("parameters.size"),
    });
    expect(await send(standard({ parameters: { size: "7*9" } }), "sketch")).toMatchObject({ status: 200 });
  });
});

describe("the shorthand of OpenAI's clients", () => {
  it.each<[string, object, object]>([
    ["a prompt", {}, { input: input({ text: "a fox" }), parameters: {} }],
    [
      "n and size",
      { n: 2, size: "1024x1024" },
      { input: input({ text: "a fox" }), parameters: { n: 2, size: "1024*1024" } },
    ],
    [
      "a size with an asterisk",
      { size: "1024*1024" },
      { input: input({ text: "a fox" }), parameters: { size: "1024*1024" } },
    ],
    ["n 1", { n: 1 }, { input: input({ text: "a fox" }), parameters: {} }],
    ["n 0", { n: 0 }, { input: input({ text: "a fox" }), parameters: {} }],
    ["n -3", { n: -3 }, { input: input({ text: "a fox" }), parameters: {} }],
    ["size auto", { size: "auto" }, { input: input({ text: "a fox" }), parameters: {} }],
    ["size adaptive", { size: "adaptive" }, { input: input({ text: "a fox" }), parameters: {} }],
    ["an image", { image: A }, { input: input({ image: A }, { text: "a fox" }), parameters: {} }],
    [
      "images",
      { image: [A, DATA, A] },
      { input: input({ image: A }, { image: DATA }, { image: A }, { text: "a fox" }), parameters: {} },
    ],
    [
      "known parameters at the top",
      { watermark: false, prompt_extend: false, negative_prompt: "", seed: 0 },
      {
        input: input({ text: "a fox" }),
        parameters: { watermark: false, prompt_extend: false, negative_prompt: "", seed: 0 },
      },
    ],
    [
      "parameters that win",
      { n: 2, size: "1024x1024", seed: 1, parameters: { n: 3, size: "512*512", seed: 2, future: 1 } },
      { input: input({ text: "a fox" }), parameters: { n: 3, size: "512*512", seed: 2, future: 1 } },
    ],
    [
      "nulls",
      { n: null, size: null, image: null, input: null, parameters: null, quality: null, stream: null },
      { input: input({ text: "a fox" }), parameters: {} },
    ],
  ])("with %s becomes messages", async (_what, fields, expected) => {
    const { status, sent, ignored } = await send({ prompt: "a fox", ...fields });
    expect({ status, sent, ignored }).toEqual({ status: 200, sent: expected, ignored: null });
  });

  it.each<[string, unknown]>([
    ["a list", [A]],
    ["one", A],
    ["none", []],
  ])("refuses images (%s) instead of making an image without them", async (_what, images) => {
    const { status, sent, body } = await send({ prompt: "a fox", images });
    expect({ status, sent }).toEqual({ status: 400, sent: undefined });
    expect(body).toMatchObject({
      error: { param: "images", message: expect.stringContaining("send image,") },
    });
  });

  it("names what it has no place for", async () => {
    const { sent, ignored } = await send({
      prompt: "a fox",
      quality: "hd",
      user: "u",
      output_format: "png",
    });
    expect(ignored).toBe("quality, user, output_format");
    expect(sent).toEqual({ input: input({ text: "a fox" }), parameters: {} });
  });

  it.each<[object, string]>([
    [{ prompt: undefined }, "prompt"],
    [{ prompt: "" }, "prompt"],
    [{ prompt: {} }, "prompt"],
    [{ mask: A }, "mask"],
    [{ n: "2" }, "n"],
    [{ n: 1.5 }, "n"],
    [{ n: 7 }, "n"],
    [{ n: 2, parameters: { n: 7 } }, "parameters.n"],
    [{ size: "100x100" }, "size"],
    [{ size: "1024X1024" }, "size"],
    [{ size: "2K" }, "size"],
    [{ size: "" }, "size"],
    [{ size: 1024 }, "size"],
    [{ parameters: { size: "1024x1024" } }, "parameters.size"],
    [{ parameters: { size: "1*1" } }, "parameters.size"],
    [{ parameters: "x" }, "parameters"],
    [{ image: [] }, "image"],
    [{ image: "" }, "image"],
    [{ image: [A, ""] }, "image[1]"],
    [{ image: [A, 1] }, "image"],
    [{ image: [A, A, A, A] }, "image"],
    [{ watermark: "yes" }, "watermark"],
    [{ prompt_extend: 1 }, "prompt_extend"],
    [{ negative_prompt: 5 }, "negative_prompt"],
    [{ response_format: "png" }, "response_format"],
    [{ stream: true }, "stream"],
  ])("is refused with %j", async (fields, param) => {
    expect(await send({ prompt: "a fox", ...fields })).toMatchObject({
      status: 400,
      body: refusal(param),
      sent: undefined,
    });
  });
});

describe("the refusal of a size", () => {
  it.each([
    ["x", { prompt: "a fox", size: "1024x1024" }, 'size "1024x1024"', "1664x928, or 1472x1104, or 1328x1328"],
    ["*", { prompt: "a fox", size: "1024*1024" }, 'size "1024*1024"', "1664*928, or 1472*1104, or 1328*1328"],
    ["no sign", { prompt: "a fox", size: "large" }, 'size "large"', "1664x928, or 1472x1104, or 1328x1328"],
    [
      "x, where only * is taken",
      standard({ parameters: { size: "1024x1024" } }),
      'parameters.size "1024x1024"',
      "1664*928, or 1472*1104, or 1328*1328",
    ],
    [
      "x in parameters of the shorthand",
      { prompt: "a fox", parameters: { size: "1024x1024" } },
      'parameters.size "1024x1024"',
      "1664*928, or 1472*1104, or 1328*1328",
    ],
  ])(
    "quotes the client's size, and lists sizes that it can send: %s",
    async (_what, fields, quoted, list) => {
      const { body } = await send(fields, "image-max");

      const message = `${quoted} is not supported by this model: send ${list}, or `;
      expect(body).toMatchObject({ error: { message: expect.stringContaining(message) } });
    },
  );

  it.each([
    ["1024x", "<width>x<height>"],
    ["1024*", "<width>*<height>"],
  ])("shows the notation of %j if the model has no row", async (size, notation) => {
    const { body } = await send({ prompt: "a fox", size }, "sketch");

    expect(body).toMatchObject({ error: { message: expect.stringContaining(`send ${notation}.`) } });
  });
});

describe("the limits", () => {
  const FIVE = ["1664*928", "1472*1104", "1328*1328", "1104*1472", "928*1664"];

  it.each<[string, readonly string[], readonly string[]]>([
    ["image-2.0", ["512*512", "2048*2048", "4096*1024", "262144*1"], ["511*512", "2048*2049"]],
    ["image-2.0-pro", ["512*512", "2048*2048"], ["511*512", "2048*2049"]],
    ["image-max", FIVE, ["1024*1024", "1328*1329"]],
    ["image-plus", FIVE, ["1024*1024", "1664*927"]],
    ["image-edit-max", ["512*512", "512*2048", "2048*2048"], ["511*512", "512*2049"]],
    ["image-edit-plus", ["512*512", "2048*512"], ["512*511", "2049*512"]],
    ["image-edit", [], ["1024*1024", "512*512"]],
    ["sketch", ["1*1", "99999*1"], ["1x1", "2K", "", "auto"]],
  ])("of sizes for %s", async (model, taken, refused) => {
    for (const size of taken) {
      expect(await sendEdit({ size }, model)).toMatchObject({ status: 200, sent: { parameters: { size } } });
    }
    for (const size of refused) {
      const { status, body } = await sendEdit({ size }, model);
      expect({ size, status, body }).toMatchObject({ size, status: 400, body: refusal("parameters.size") });
    }
  });

  it.each([
    ["image-2.0", 6],
    ["image-2.0-pro", 6],
    ["image-max", 1],
    ["image-plus", 1],
    ["image-edit-max", 6],
    ["image-edit-plus", 6],
    ["image-edit", 1],
  ])("of images for %s are %i", async (model, most) => {
    expect(await sendEdit({ n: most }, model)).toMatchObject({ status: 200 });
    expect(await sendEdit({ n: most + 1 }, model)).toMatchObject({
      status: 400,
      body: refusal("parameters.n"),
    });
  });

  it.each([
    ["image-2.0", 0],
    ["image-max", 0],
    ["sketch", 0],
    ["image-edit", 1],
    ["image-edit-max", 1],
    ["image-edit-plus", 1],
  ])("of references for %s are %i to 3", async (model, min) => {
    for (const count of [0, 1, 2, 3, 4]) {
      const images = Array.from({ length: count }, () => ({ image: A }));
      const isTaken = count >= min && count <= 3;
      expect((await send(standard({ input: input(...images, { text: "x" }) }), model)).status).toBe(
        isTaken ? 200 : 400,
      );
    }
    const shorthand = await send({ prompt: "x", image: [A, A, A, A] }, model);
    expect(shorthand).toMatchObject({ status: 400, body: refusal("image") });
  });
});

describe("the response format", () => {
  it("is links by default, and nothing of it is sent", async () => {
    expect((await send(standard())).sent).not.toHaveProperty("response_format");
    expect((await send(standard({ response_format: "url" }))).sent).not.toHaveProperty("response_format");
  });
});
