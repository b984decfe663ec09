import { GatewayError } from "@calotype/core";
import { calculateCharge, type PriceTables } from "@calotype/core/billing";
import { readBody } from "../read-body.js";
import { respondWithJson } from "../respond.js";
import type { CalculatedCharge, CalculateRequest, PriceView } from "../wire.js";
import type { ApiRoute } from "./route.js";

export const PRICE_ROUTES: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "prices",
    role: "viewer",
    async run({ gateway }) {
      const body: PriceView = { tables: (await gateway.prices()) ?? null };
      return respondWithJson(body);
    },
  },
  {
    method: "POST",
    path: "prices/calculate",
    role: "viewer",
    async run({ gateway }, { request }) {
      // Each field is checked where it is used.
      const asked = await readBody<CalculateRequest>(request);
      const tables = await gateway.prices();
      if (tables === undefined) throw invalid("This gateway has no prices.", "model");
      return respondWithJson(calculate(tables, asked));
    },
  },
];

/** @throws GatewayError that names the wrong field */
function calculate(tables: PriceTables, asked: CalculateRequest): CalculatedCharge {
  const {
    model,
    group = "default",
    images,
    size,
    quality,
    outputTokens,
    totalTokens,
    referenceImages,
  } = asked;
  if (typeof model !== "string") throw invalid("model must be a string.", "model");
  if (typeof group !== "string") throw invalid("group must be a string.", "group");
  // The name of a row, not of a model: a series is a row too.
  const details = Object.hasOwn(tables.model_details, model) ? tables.model_details[model] : undefined;
  if (details === undefined) throw invalid("The price table has no such row.", "model");
  const ratios = tables.group_ratio ?? {};
  const group_ratio = Object.hasOwn(ratios, group) ? ratios[group] : undefined;
  if (group_ratio === undefined) throw invalid("The price table has no such group.", "group");
  if (!Number.isSafeInteger(images) || images < 0 || images > 1_000) {
    throw invalid("images must be a whole number from 0 to 1,000.", "images");
  }
  try {
    return calculateCharge({
      details,
      group_ratio,
      usage: {
        generated_images: images,
        ...(outputTokens !== undefined && { output_tokens: outputTokens }),
        ...(totalTokens !== undefined && { total_tokens: totalTokens }),
      },
      images: Array.from({ length: images }, () => ({ size, quality })),
      reference_images: referenceImages,
      requested_size: size,
    });
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new GatewayError("invalid_request_error", cause.message, { cause });
  }
}

function invalid(message: string, param: string): GatewayError {
  return new GatewayError("invalid_request_error", message, { param });
}
