import { describe, expect, it } from "vitest";
import type { ChannelOptions, FieldChanges } from "../../channels/channel.js";
import { composeGateway } from "../../compose.js";
import { openai } from "../../families/openai/openai.js";
import { qwenImage } from "../../families/qwen-image/qwen-image.js";
import { seedream } from "../../families/seedream/seedream.js";
import { GatewayOptionsError } from "../../options/options-error.js";
import { CALLER_KEY, createTestGateway } from "../../testing/test-gateway.js";

type Parameters = ChannelOptions["parameters"];

const MODEL = "seedream-4-5-251128";
const ark = (parameters: Parameters): ChannelOptions => ({
  id: "ark",
  family: "seedream",
  apiKey: "k",
  modelMapping: { "seedream-*": "doubao-seedream-*" },
  parameters,
});
const bailian = (parameters: Parameters): ChannelOptions => ({
  id: "bailian",
  family: "qwen-image",
  apiKey: "k",
  parameters,
});

const open = (channel: ChannelOptions, model = MODEL) =>
  createTestGateway(undefined, { models: { [model]: { family: channel.family } }, channels: [channel] });

const problemsOf = (changes: FieldChanges): readonly string[] => {
  try {
    open(ark({ "seedream-*": changes }));
    return [];
  } catch (error) {
    if (error instanceof GatewayOptionsError) return error.problems.map(({ path }) => path);
    throw error;
  }
};

describe("parameters of a channel", () => {
  it.each<[what: string, changes: FieldChanges, sent: object]>([
    ["set a field of the client", { set: { watermark: false } }, { watermark: false, seed: 7 }],
    [
      "set a field that the client has not sent",
      { set: { region: "cn" } },
      { region: "cn", watermark: true },
    ],
    [
      "have defaults, which the client's fields replace",
      { default: { watermark: false, a: 1 } },
      { watermark: true, a: 1 },
    ],
    ["remove a field", { remove: ["seed", "none"] }, { watermark: true }],
    ["set a field again that they remove", { remove: ["seed"], set: { seed: 1 } }, { seed: 1 }],
    ["have null as a value", { set: { seed: null } }, { seed: null }],
  ])("%s", async (_what, changes, sent) => {
    const { calls, post, postNative } = open(ark({ "seedream-*": changes }));
    const body = { model: MODEL, prompt: "a fox", size: "2048x2048", seed: 7, watermark: true };
    expect((await post(body)).status).toBe(200);
    expect((await postNative(body)).status).toBe(200);

    const expected = { model: "doubao-seedream-4-5-251128", prompt: "a fox", size: "2048x2048", ...sent };
    expect(calls.map((call) => call.body)).toMatchObject([expected, expected]);
    for (const { body: got } of calls)
      expect("seed" in got).toBe("seed" in sent || changes.remove === undefined);
  });

  it("are those of the name, or of the longest series that the model belongs to", async () => {
    const parameters = { "*": { set: { a: 1 } }, "seedream-4-*": { set: { b: 2 } } };
    const { calls, post } = open(ark(parameters));
    await post({ model: MODEL, prompt: "a fox" });

    expect(calls[0]?.body).toMatchObject({ b: 2 });
    expect(calls[0]?.body).not.toHaveProperty("a");
  });

  it("change members of objects one by one", async () => {
    const { calls, post } = open(
      bailian({
        "*": {
          set: { parameters: { watermark: false, more: { a: 1 } } },
          default: { parameters: { prompt_extend: false } },
          remove: ["parameters.negative_prompt", "parameters.more.b", "none.at.all"],
        },
      }),
      "qwen-image-max",
    );
    const fields = { prompt: "a fox", size: "1328x1328", negative_prompt: "dogs", prompt_extend: true };
    expect((await post({ model: "qwen-image-max", ...fields })).status).toBe(200);

    expect(calls[0]?.body["parameters"]).toEqual({
      size: "1328*1328",
      prompt_extend: true,
      watermark: false,
      more: { a: 1 },
    });
  });

  it("change the fields of forms", async () => {
    const sent: FormData[] = [];
    const { gateway } = createTestGateway(undefined, {
      families: [openai],
      models: { "gpt-image-2": { family: "openai" } },
      channels: [
        {
          id: "c",
          family: "openai",
          apiKey: "k",
          parameters: {
            "gpt-image-2": {
              set: { moderation: "low", tags: ["a"] },
              default: { background: "opaque", output_format: "webp" },
              remove: ["user"],
            },
          },
        },
      ],
      fetch: async (input, init) => {
        sent.push(await new Request(input, init).formData());
        return Response.json({ created: 1, data: [{ b64_json: "aGk=" }] });
      },
    });
    const form = new FormData();
    const fields = {
      model: "gpt-image-2",
      prompt: "a fox",
      user: "ada",
      output_format: "jpeg",
      moderation: "auto",
    };
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    form.set(
      "image",
      new Blob([Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10)], { type: "image/png" }),
    );
    const url = "http://gateway.test/v1/images/edits";
    const headers = { authorization: `Bearer ${CALLER_KEY}` };
    const response = await gateway.fetch(new Request(url, { method: "POST", headers, body: form }));

    expect(await response.text()).toContain("aGk=");
    const [got] = sent;
    expect(got?.getAll("moderation")).toEqual(["low"]);
    expect(got?.get("tags")).toBe('["a"]');
    expect(got?.getAll("output_format")).toEqual(["jpeg"]);
    expect(got?.get("background")).toBe("opaque");
    expect(got?.has("user")).toBe(false);
    expect(got?.get("prompt")).toBe("a fox");
  });

  it("are an error of the channel if its family writes the body itself", async () => {
    const text = { ...seedream, toUpstream: () => ({ path: "/images/generations", body: "{}" }) };
    const { calls, records, logs, post } = createTestGateway(undefined, {
      families: [{ ...text, name: "text" }],
      models: { m: { family: "text" } },
      channels: [{ id: "c", family: "text", apiKey: "k", parameters: { m: { set: { a: 1 } } } }],
    });

    expect(await post({ model: "m", prompt: "a fox" })).toMatchObject({ status: 502 });
    expect(calls).toEqual([]);
    expect(records).toMatchObject([{ charge: null, errorCode: "upstream_invalid_response" }]);
    expect(JSON.stringify(logs)).toContain("family");
  });
});

describe("fields that decide what is made and charged", () => {
  it.each<[changes: FieldChanges, paths: readonly string[]]>([
    [{ set: { n: 2 } }, ["set.n"]],
    [{ set: { version: "a1" } }, ["set.version"]],
    [{ default: { max_images: 2, watermark: true } }, ["default.max_images"]],
    [{ set: { numImages: 1, "Image-Size": "1K" } }, ["set.numImages", "set.Image-Size"]],
    [{ remove: ["seed", "size", "parameters.size", "parameters"] }, ["remove[1]", "remove[2]", "remove[3]"]],
    [{ set: { a: { b: { prompt: "x" } } } }, ["set.a.b.prompt"]],
    [{ set: { parameters: "x", generationConfig: [] } }, ["set.parameters", "set.generationConfig"]],
    [{ set: { parameters: { seed: 1 } }, remove: ["parameters.seed"] }, []],
  ])("cannot be named: %j", (changes, paths) => {
    expect(problemsOf(changes)).toEqual(paths.map((path) => `channels[0].parameters["seedream-*"].${path}`));
  });

  it("are listed in the message", () => {
    expect(() => open(ark({ "seedream-*": { set: { n: 2 } } }))).toThrow(
      /set\.n names a field .*: model, .* stream, partial_images/,
    );
  });

  it.each<[parameters: unknown, path: string]>([
    [{ m: 1 }, "channels[0].parameters.m"],
    [{ m: { set: 1 } }, "channels[0].parameters.m.set"],
    [{ m: { remove: "a" } }, "channels[0].parameters.m.remove"],
    [{ m: { unset: {} } }, "channels[0].parameters.m.unset"],
    [[], "channels[0].parameters"],
  ])("have a type: %j", (parameters, path) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- As from JavaScript.
    expect(() => open(ark(parameters as Parameters))).toThrow(path);
  });
});

it("parameters need their feature in a composed gateway", () => {
  const options = {
    models: { [MODEL]: { family: "seedream" } },
    channels: [ark({ "seedream-*": { set: { a: 1 } } })],
    callers: [{ id: "me", key: CALLER_KEY }],
  };
  expect(() => composeGateway(options, { families: [seedream, qwenImage] })).toThrow(
    "channels[0].parameters needs the feature channelParameters",
  );
});
