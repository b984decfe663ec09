import { invalidRequest } from "../errors.js";
import { type JsonObject, toPlainNumber } from "../util/json.js";
import type { NormalizeContext } from "./family.js";

/**
 * How many upstream calls a request of `/v1` takes. `n` becomes images in one of three ways:
 *
 * 1. The model makes one image per call (`imagesPerCall: 1`): one call for each image, see `responses/fan-out.ts`.
 * 2. Other Seedream models: one call with `sequential_image_generation`, see `seedream/sequential-images.ts`.
 * 3. Other models: one call that sends `n`. An `n` above the limit of the model is refused.
 *
 * @throws GatewayError `invalid_request_error` if `n` is above `maxUpstreamCalls`, or if several calls would have to stream
 * in the native format. With the stream format `openai` the gateway makes the stream from the responses of the calls.
 */
export function countUpstreamCalls(
  { n = 1, stream }: { readonly n?: number | undefined; readonly stream?: boolean | undefined },
  {
    capabilities,
    maxUpstreamCalls = 1,
    streamFormat,
  }: Pick<NormalizeContext, "capabilities" | "maxUpstreamCalls" | "streamFormat">,
): number {
  if (n <= 1 || capabilities?.imagesPerCall !== 1 || maxUpstreamCalls <= 1) return 1;
  if (n > maxUpstreamCalls) {
    throw invalidRequest(`n asks for ${n} images; at most ${maxUpstreamCalls} are allowed.`, "n");
  }
  if (stream === true && streamFormat !== "openai") {
    throw invalidRequest(
      "stream is not offered with n above 1, because this model makes one image per call: leave it out.",
      "stream",
    );
  }
  return n;
}

/** The largest seed of Ark and of DashScope (their references, November 2026). */
const MAX_SEED = 2_147_483_647;

/**
 * The fields with `seed` raised by `amount`. After the largest seed comes 0. Any other seed stays: -1, which means a
 * random one, and what the provider will refuse.
 */
export function raiseSeed(fields: JsonObject, amount: number): JsonObject {
  const seed = toPlainNumber(fields["seed"]);
  if (typeof seed !== "number" || !Number.isInteger(seed) || seed < 0 || seed > MAX_SEED) return fields;
  return { ...fields, seed: (seed + amount) % (MAX_SEED + 1) };
}
