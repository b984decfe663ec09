import { seedream } from "../families/index.js";
import type { GatewayOptions } from "../gateway-options/options.js";
import { cutEvery } from "./cut-bytes.js";
import {
  ARK_KEY,
  createPost,
  createTestGateway,
  NATIVE,
  type ReadResponse,
  type TestGateway,
} from "./test-gateway.js";

/** The same family without `responseShape`, so that whole responses are held in memory. */
const { responseShape: _shape, ...withoutShape } = seedream;

/** A model whose large responses are relayed, and one whose responses are held in memory. */
export const RELAYED = "relayed";
export const HELD = "held";

/** Base64 of this length. The default is longer than an error response can be. */
export function imageBase64(bytes = 60_000, letter = "A"): string {
  return letter.repeat(bytes);
}

/** The text of a response with two images and 1,000 tokens. `members` replace or extend its members. */
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

/** The body of the provider's response, and options of the gateway. */
export interface LargeSource {
  readonly body: AsyncIterable<Uint8Array> | string;
  readonly options?: Partial<GatewayOptions>;
}

const PRICE = { pricing_mode: "per-request", model_price: "0.1" } as const;

export interface LargeGateway extends TestGateway {
  /** Sends a request to `/v1` and reads the response to its end. */
  readonly ask: (model?: string, fields?: object) => Promise<ReadResponse>;
  /** The same on the native endpoint. */
  readonly askNative: (model?: string) => Promise<ReadResponse>;
  /** Sends a request and does not read the body. */
  readonly begin: (path?: "/v1" | "native", init?: RequestInit) => Promise<Response>;
}

/** The fields of a request for up to four images, on either endpoint. */
const BATCH = {
  sequential_image_generation: "auto",
  sequential_image_generation_options: { max_images: 4 },
};

/** Opens a gateway whose provider responds with this body. A string is sent in chunks of 5,000 bytes. */
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

/** Responds to a link of the provider: the URL itself instead of an image, or 404 if the URL contains `missing`. */
function serveFile(url: string): Response | undefined {
  if (!url.startsWith("https://ark.test/")) return undefined;
  return url.includes("missing") ? new Response("", { status: 404 }) : new Response(url);
}

function toChunks(text: string): readonly Uint8Array[] {
  return cutEvery(new TextEncoder().encode(text), 5_000);
}

/** Reads a response that may break off. */
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
