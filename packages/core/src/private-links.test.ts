import { afterEach, describe, expect, it } from "vitest";
import type { ChannelOptions } from "./channels/channel.js";
import { gemini } from "./families/gemini/gemini.js";
import { openai } from "./families/openai/openai.js";
import {
  ARK_RESPONSE,
  createPost,
  createTestGateway,
  DASHSCOPE_RESPONSE,
  type ReadResponse,
  type TestGateway,
} from "./testing/test-gateway.js";
import type { JsonObject } from "./util/json.js";

const gateways: TestGateway[] = [];

afterEach(async () => {
  for (const { gateway } of gateways.splice(0)) await gateway.close();
});

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=",
  "base64",
);
const FAMILIES = ["seedream", "qwen-image", "gemini", "openai"];

function open(channel: Partial<ChannelOptions> = {}): TestGateway {
  const test = createTestGateway(
    ({ url }) => {
      if (url.endsWith("1.png")) return new Response(PNG);
      if (url.endsWith(".html")) return new Response("<html>");
      return Response.json(url.includes("multimodal-generation") ? DASHSCOPE_RESPONSE : ARK_RESPONSE);
    },
    {
      families: [gemini, openai],
      models: {
        ...Object.fromEntries(FAMILIES.map((family) => [family, { family, edits: true }])),
        local: { family: "openai" },
      },
      channels: [
        ...FAMILIES.map((family) => ({
          id: family,
          family,
          apiKey: "k",
          modelMapping: { [family]: family },
          ...channel,
        })),
        {
          id: "localai",
          family: "openai",
          dialect: "localai",
          apiKey: "k",
          baseUrl: "http://127.0.0.1:8080/v1",
          modelMapping: { local: "local" },
        },
      ],
    },
  );
  gateways.push(test);
  return test;
}

const PRIVATE = "http://169.254.169.254/latest/meta-data";

/** Each way in which a request can hold a link, and the field that the error names. */
const WAYS: readonly (readonly [way: string, path: string, body: JsonObject, param: string])[] = [
  ...[...FAMILIES, "local"].flatMap((model) => [
    [`image of ${model}`, "/v1/images/generations", { model, prompt: "x", image: PRIVATE }, "image"] as const,
    [
      `a list in image of ${model}`,
      "/v1/images/generations",
      { model, prompt: "x", image: ["https://cdn.test/1.png", PRIVATE] },
      "image[1]",
    ] as const,
    [
      `images of an edit of ${model}`,
      "/v1/images/edits",
      { model, prompt: "x", images: [{ image_url: PRIVATE }] },
      "image[0]",
    ] as const,
  ]),
  [
    "an unknown field of seedream",
    "/v1/images/generations",
    { model: "seedream", prompt: "x", control: { image_url: [PRIVATE] } },
    "control.image_url[0]",
  ],
  [
    "mask of openai",
    "/v1/images/edits",
    { model: "openai", prompt: "x", image: "https://cdn.test/1.png", mask: { image_url: PRIVATE } },
    "mask",
  ],
  [
    "messages of qwen-image",
    "/v1/images/generations",
    {
      model: "qwen-image",
      input: { messages: [{ role: "user", content: [{ image: PRIVATE }, { text: "x" }] }] },
    },
    "input.messages[0].content[0].image",
  ],
  [
    "Ark's own endpoint",
    "/api/v3/images/generations",
    { model: "seedream", prompt: "x", image: [PRIVATE] },
    "image[0]",
  ],
  [
    "DashScope's own endpoint",
    "/api/v1/services/aigc/multimodal-generation/generation",
    { model: "qwen-image", input: { messages: [{ role: "user", content: [{ image: PRIVATE }] }] } },
    "input.messages[0].content[0].image",
  ],
];

const ask = async ({ gateway }: TestGateway, path: string, body: JsonObject): Promise<ReadResponse> => {
  const request = createPost(body);
  const response = await gateway.fetch(new Request(new URL(path, request.url), request));
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
};

const refused = (param: string): object => ({
  status: 400,
  body: {
    error: {
      type: "invalid_request_error",
      param,
      message: `${param} is a link to a host that is not public: send a public https link or a data URL.`,
    },
  },
});

describe("a link to a private host", () => {
  it.each(WAYS)("in %s is refused, and nothing is sent", async (_way, path, body, param) => {
    const gateway = open();
    const response = await ask(gateway, path, body);
    expect(response).toMatchObject(refused(param));
    expect(gateway.calls).toHaveLength(0);
  });

  it.each(["seedream", "qwen-image", "gemini", "openai", "local"])(
    "in the text part image of a form of %s is refused",
    async (model) => {
      const gateway = open();
      const form = new FormData();
      for (const [name, value] of Object.entries({ model, prompt: "x", image: PRIVATE }))
        form.set(name, value);
      const { authorization = "" } = Object.fromEntries(createPost({}).headers);
      const response = await gateway.gateway.fetch(
        new Request("http://gateway.test/v1/images/edits", {
          method: "POST",
          headers: { authorization },
          body: form,
        }),
      );
      expect({ status: response.status, body: await response.json() }).toMatchObject(refused("image[0]"));
      expect(gateway.calls).toHaveLength(0);
    },
  );

  it.each([
    "http://127.0.0.1:6379/x.png",
    "https://127.0.0.1/x.png",
    "http://127.1/x.png",
    "http://2130706433/x.png",
    "http://0x7f000001/x.png",
    "http://0177.0.0.1/x.png",
    "http://127.0.0.1./x.png",
    "http://0/x.png",
    "http://10.1.2.3/x.png",
    "http://172.16.0.1/x.png",
    "http://192.168.1.1/x.png",
    "http://100.100.100.200/x.png",
    "http://[::1]/x.png",
    "http://[::ffff:127.0.0.1]/x.png",
    "http://[::ffff:a9fe:a9fe]/x.png",
    "http://[fd00::1]/x.png",
    "http://[fe80::1]/x.png",
    "http://[64:ff9b::7f00:1]/x.png",
    "http://localhost/x.png",
    "http://LOCALHOST./x.png",
    "http://files.localhost/x.png",
    "http://printer.local/x.png",
    "http://metadata.google.internal/x.png",
    "http://router.home.arpa/x.png",
    "http://redis:6379/x.png",
    "http://user:pass@127.0.0.1/x.png",
    "http://127。0。0。1/x.png",
    "http://%31%32%37.0.0.1/x.png",
    "HTTP://127.0.0.1/x.png",
    " http://127.0.0.1/x.png",
    "ht\ntp://127.0.0.1/x.png",
    "http:127.0.0.1/x.png",
    "http:\\\\127.0.0.1\\x.png",
  ])("is refused as %j, also where fields are forwarded as sent", async (image) => {
    const gateway = open();
    const response = await ask(gateway, "/api/v3/images/generations", {
      model: "seedream",
      prompt: "x",
      image,
    });
    expect(response).toMatchObject(refused("image"));
    expect(gateway.calls).toHaveLength(0);
  });

  it.each(["https://cdn.example/x.png", "http://8.8.8.8/x.png", "https://localhost.example/x.png"])(
    "is not %s, which is sent as it is",
    async (image) => {
      const gateway = open();
      const sent = { model: "seedream", prompt: "x", image };
      expect(await ask(gateway, "/api/v3/images/generations", sent)).toMatchObject({ status: 200 });
      expect(gateway.calls).toMatchObject([{ body: { image } }]);
    },
  );

  it("may be a prompt", async () => {
    const gateway = open();
    const prompt = "http://localhost/";
    expect(await ask(gateway, "/v1/images/generations", { model: "seedream", prompt })).toMatchObject({
      status: 200,
    });
  });

  it.each([
    [
      "the origin of a base URL on loopback",
      { baseUrl: "http://127.0.0.1:4000/api/v3" },
      "http://127.0.0.1:4000/1.png",
    ],
    ["a host of resultHosts", { resultHosts: ["minio.internal"] }, "https://minio.internal/1.png"],
  ])("of %s is sent", async (_what, channel, image) => {
    const gateway = open(channel);
    expect(
      await ask(gateway, "/v1/images/generations", { model: "seedream", prompt: "x", image }),
    ).toMatchObject({ status: 200 });
    expect(gateway.calls).toMatchObject([{ body: { image } }]);
  });

  it("of another port than the base URL on loopback is refused", async () => {
    const gateway = open({ baseUrl: "http://127.0.0.1:4000/api/v3" });
    const image = "http://127.0.0.1:4001/1.png";
    expect(
      await ask(gateway, "/v1/images/generations", { model: "seedream", prompt: "x", image }),
    ).toMatchObject(refused("image"));
  });
});

describe("a public link for a server of one's own", () => {
  it("is opened by the gateway, and the server gets bytes", async () => {
    const gateway = open();
    const image = "https://cdn.example/1.png";
    expect(
      await ask(gateway, "/v1/images/generations", { model: "local", prompt: "x", image }),
    ).toMatchObject({ status: 200 });
    expect(gateway.calls.slice(0, 2).map(({ url }) => url)).toEqual([
      image,
      "http://127.0.0.1:8080/v1/images/generations",
    ]);
    expect(gateway.calls[1]?.body["ref_images"]).toEqual([PNG.toString("base64")]);
  });

  it("that leads to no image is refused, and the server gets nothing", async () => {
    const gateway = open();
    const image = "https://cdn.example/page.html";
    expect(
      await ask(gateway, "/v1/images/generations", { model: "local", prompt: "x", image }),
    ).toMatchObject({ status: 400, body: { error: { param: "image[0]" } } });
    expect(gateway.calls.map(({ url }) => url)).toEqual([image]);
  });
});
