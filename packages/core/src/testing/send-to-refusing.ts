import { expect } from "vitest";
import type { FailureScope, UpstreamFailureKind } from "../types.js";
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

/** The provider's status and code, what kind of failure it is, and the status that the client sees in the end. */
export type CodeRow = readonly [number, string, UpstreamFailureKind, number, FailureScope?];

/** Rows with a scope in each, as `it.each` needs them. */
export const toCases = (rows: readonly CodeRow[]) =>
  rows.map(([status, code, kind, finalStatus, scope]) => [status, code, kind, finalStatus, scope] as const);

/** The kinds after which another channel is tried. */
export const AGAIN = new Set<UpstreamFailureKind>(["credential", "model", "rate", "quota", "overload"]);
const REPEATABLE = new Set<UpstreamFailureKind>(["content", "model", "rate", "overload"]);

/** Expects what the client, the record and the other channel get if the provider refuses with this code. */
export async function expectRefusal(
  family: "seedream" | "qwen-image",
  [status, code, kind, finalStatus]: CodeRow,
  body: object,
  error: object,
): Promise<void> {
  expect(await sendToRefusing(family, { status, body }, true)).toMatchObject({
    status: finalStatus,
    recordedStatus: finalStatus,
    charge: "0",
    triedSecond: AGAIN.has(kind),
    shouldRetry: REPEATABLE.has(kind) ? null : "false",
    retryAfter: kind === "rate" ? "5" : null,
    error: { code: kind === "credential" ? "upstream_authentication_failed" : code, ...error },
  });
  const elsewhere = await sendToRefusing(family, { status, body }, false);
  expect(elsewhere.status).toBe(AGAIN.has(kind) ? 200 : finalStatus);
}
