const MIB = 1024 * 1024;
const USAGE = { generated_images: 1, output_tokens: 16_384, total_tokens: 16_384 };
const PROMPT = "An oak on a hill in the first light of an autumn morning";

/** A kind of request, with the bytes of the request and of the upstream response. */
export interface Scenario {
  readonly path: string;
  readonly contentType: string;
  readonly body: Buffer;
  readonly responseType: string;
  /** The pieces in which the provider writes its response. */
  readonly response: readonly Buffer[];
}

const GENERATIONS = "/v1/images/generations";
const EDITS = "/v1/images/edits";
const URL_RESPONSE = createResponse({
  url: `https://images.example.com/${"a".repeat(400)}`,
  size: "2048x2048",
});

/** Only letters. */
const base64Of = (bytes: number): string => Buffer.alloc(bytes, "calotype-").toString("base64");

/** The kinds of requests whose work is counted. */
export const SCENARIOS = {
  small: ask({ n: 1, size: "2048x2048", response_format: "url" }, URL_RESPONSE),
  "4 MB of base64 in a response": ask(
    { response_format: "b64_json" },
    createResponse({ b64_json: base64Of(3 * MIB), size: "2048x2048" }),
  ),
  "100 events of 500 B": ask(
    { stream: true },
    createStream(100, { url: `https://images.example.com/${"a".repeat(300)}` }),
  ),
  "10 events of 1 MB": ask(
    { stream: true, response_format: "b64_json" },
    createStream(10, { b64_json: base64Of(0.75 * MIB) }),
  ),
  "a form with 3 files of 10 MB": {
    ...createForm(3, 10 * MIB),
    path: EDITS,
    responseType: "application/json",
    response: URL_RESPONSE,
  },
  "JSON with 3 data URLs of 4 MB": ask(
    { image: Array.from({ length: 3 }, () => `data:image/png;base64,${base64Of(3 * MIB)}`) },
    URL_RESPONSE,
  ),
} as const satisfies Record<string, Scenario>;

/** Names a scenario. */
export type ScenarioName = keyof typeof SCENARIOS;

function ask(fields: object, response: readonly Buffer[]): Scenario {
  return {
    path: GENERATIONS,
    contentType: "application/json",
    body: Buffer.from(JSON.stringify({ model: "seedream-4-5-test", prompt: PROMPT, ...fields })),
    responseType: response.length === 1 ? "application/json" : "text/event-stream",
    response,
  };
}

function createResponse(image: object): readonly Buffer[] {
  return [
    Buffer.from(JSON.stringify({ model: "ep-test", created: 1_795_235_078, data: [image], usage: USAGE })),
  ];
}

function createStream(count: number, image: object): readonly Buffer[] {
  const images = Array.from({ length: count }, (_, index) =>
    toEvent("image_generation.partial_succeeded", { image_index: index, ...image, size: "2048x2048" }),
  );
  const end = [toEvent("image_generation.completed", { usage: USAGE }), Buffer.from("data: [DONE]\n\n")];
  return [...images, ...end];
}

function toEvent(type: string, fields: object): Buffer {
  const data = { type, model: "ep-test", created: 1_795_235_078, ...fields };
  return Buffer.from(`event: ${type}\ndata: ${JSON.stringify(data)}\n\n`);
}

function createForm(files: number, bytes: number): Pick<Scenario, "contentType" | "body"> {
  const file = Buffer.alloc(bytes, "calotype-");
  file.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const images = Array.from({ length: files }, (_, index) =>
    part("image[]", file, `; filename="${index}.png"`),
  );
  return {
    contentType: "multipart/form-data; boundary=b",
    body: Buffer.concat([
      part("model", "seedream-4-5-test"),
      part("prompt", PROMPT),
      ...images,
      Buffer.from("--b--\r\n"),
    ]),
  };
}

function part(name: string, content: string | Buffer, more = ""): Buffer {
  return Buffer.concat([
    Buffer.from(`--b\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n`),
    Buffer.from(content),
    Buffer.from("\r\n"),
  ]);
}
