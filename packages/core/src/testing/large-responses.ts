import { seedream } from "../families/index.js";
import type { GatewayOptions } from "../options/options.js";
import { cutEvery } from "./cut-bytes.js";
import {
  ARK_KEY,
  createPost,
  createTestGateway,
  NATIVE,
  type ReadResponse,
  type TestGateway,
} from "./test-gateway.js";

/** The same family; it does not tell how its responses are read, so that they are held whole. */
const { responseShape: _shape, ...withoutShape } = seedream;

/** A model whose large responses are relayed, and one whose responses are held. */
export const RELAYED = "relayed";
export const HELD = "held";

/** Base64 of so many bytes, larger than an error can be. */
export function imageBase64(bytes = 60_000, letter = "A"): string {
  return letter.repeat(bytes);
}

/** The text of a response of two images and 1,000 tokens, with a member in the place of another. */
export function largeResponse(members: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({
    model: "ep-20260101-abcde",
    created: 1_763_683_200,
    data: [
      { b64_json: imageBase64(), size: "2048x2048" },
      { b64_json: imageBase64(60_000, "B"), size: "2048x2048" },
    ],
    usage: { generated_images: 2, output_tokens: 1_000, total_tokens: 1_000 },
    ...members,
  });
}

/** What a response is made of, and how it ends. */
export interface LargeSource {
  readonly body: AsyncIterable<Uint8Array> | string;
  readonly options?: Partial<GatewayOptions>;
}

const PRICE = { pricing_mode: "per-request", model_price: "0.1" } as const;

export interface LargeGateway extends TestGateway {
  /** Asks on `/v1` and reads the response to its end. */
  readonly ask: (model?: string, fields?: object) => Promise<ReadResponse>;
  /** The same on the native endpoint. */
  readonly askNative: (model?: string) => Promise<ReadResponse>;
  /** Asks, and reads nothing of the body. */
  readonly begin: (path?: "/v1" | "native", init?: RequestInit) => Promise<Response>;
}

/** The fields of a request for up to four images, on either endpoint. */
const BATCH = {
  sequential_image_generation: "auto",
  sequential_image_generation_options: { max_images: 4 },
};

/** A gateway whose provider responds with these bytes, in chunks of 5,000 where they are a text. */
export function openLarge({ body, options }: LargeSource): LargeGateway {
  const test = createTestGateway(
    ({ url }) =>
      serveFile(url) ??
      new Response(ReadableStream.from(typeof body === "string" ? toChunks(body) : body), {
        headers: { "content-type": "application/json", "x-request-id": "upstream-1" },
      }),
    {
      families: [{ ...withoutShape, name: "held" }],
      models: { [RELAYED]: { family: "seedream" }, [HELD]: { family: "held" } },
      channels: ["seedream", "held"].map((family) => ({
        id: family,
        family,
        apiKey: ARK_KEY,
        timeouts: { idleSeconds: 0.2 },
      })),
      billing: { model_details: { "*": PRICE } },
      ...options,
    },
    { now: () => 1_800_000_000_000 },
  );
  const begin: LargeGateway["begin"] = (path = "/v1", init = {}) => {
    const post = createPost({ model: RELAYED, prompt: "a fox", ...BATCH });
    return test.gateway.fetch(
      path === "native" ? new Request(NATIVE, new Request(post, init)) : new Request(post, init),
    );
  };
  return {
    ...test,
    begin,
    ask: (model = RELAYED, fields = {}) => test.post({ model, prompt: "a fox", ...BATCH, ...fields }),
    askNative: (model = RELAYED) => test.postNative({ model, prompt: "a fox", ...BATCH }),
  };
}

/** What a link of the provider leads to: its own URL in place of an image. Files that are `missing` are gone. */
function serveFile(url: string): Response | undefined {
  if (!url.startsWith("https://ark.test/")) return undefined;
  return url.includes("missing") ? new Response("", { status: 404 }) : new Response(url);
}

function toChunks(text: string): readonly Uint8Array[] {
  return cutEvery(new TextEncoder().encode(text), 5_000);
}

/** What a client gets of a response that may break off. */
export async function readUntilBreak(response: Response): Promise<{ text: string; brokeOff: boolean }> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
    return { text, brokeOff: false };
  } catch {
    return { text, brokeOff: true };
  }
}
