import { ARK_RESPONSE, createTestGateway, DASHSCOPE_RESPONSE } from "./test-gateway.js";

/** The result of a request whose first channel responds with an error. */
export interface RefusalOutcome {
  readonly status: number;
  readonly error: unknown;
  readonly shouldRetry: string | null;
  readonly retryAfter: string | null;
  /** Whether the second channel was tried. */
  readonly triedSecond: boolean;
  readonly charge: string | null | undefined;
  readonly recordedStatus: number | undefined;
}

/** The provider refuses the first call and accepts later ones, or refuses all calls. */
export async function sendToRefusing(
  family: "seedream" | "qwen-image",
  refusal: { readonly status: number; readonly body: unknown; readonly headers?: Record<string, string> },
  isEverywhere: boolean,
): Promise<RefusalOutcome> {
  const success = family === "seedream" ? ARK_RESPONSE : DASHSCOPE_RESPONSE;
  let asked = 0;
  const { post, calls, records } = createTestGateway(
    () => {
      asked++;
      if (asked > 1 && !isEverywhere) return Response.json(success);
      const { status, body, headers = {} } = refusal;
      return typeof body === "string"
        ? new Response(body, { status, headers })
        : Response.json(body, { status, headers });
    },
    {
      models: { model: { family } },
      channels: ["first", "second"].map((id) => ({ id, family, apiKey: `key-${id}` })),
      billing: { model_details: { model: { pricing_mode: "per-request", model_price: "0.04" } } },
    },
  );
  const { status, body, headers } = await post({ model: "model", prompt: "x" });
  return {
    status,
    error: body["error"],
    shouldRetry: headers.get("x-should-retry"),
    retryAfter: headers.get("retry-after"),
    triedSecond: calls.length > 1,
    charge: records[0]?.charge,
    recordedStatus: records[0]?.status,
  };
}
