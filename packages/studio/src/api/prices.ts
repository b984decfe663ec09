import { GatewayError } from "@calotype/core";
import { calculateCharge, type PriceTables } from "@calotype/core/billing";
import { readBody } from "../read-body.js";
import { respond, respondWithJson } from "../respond.js";
import type { CalculatedCharge, CalculateRequest, ErrorBody, PriceView, RepriceRequest } from "../wire.js";
import { listModels } from "./list-models.js";
import { readRange, repriceAsLines } from "./reprice.js";
import type { ApiRoute } from "./route.js";

export const PRICE_ROUTES: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "prices",
    role: "viewer",
    async run({ gateway }, { request }) {
      const tables = (await gateway.prices()) ?? null;
      const body: PriceView = { tables, models: await listModels(gateway, request.signal) };
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
  {
    method: "POST",
    path: "prices/reprice",
    role: "viewer",
    async run(parts, { request }) {
      const { from, to, tables } = await readBody<RepriceRequest>(request);
      const range = readRange(from, to);
      const problems = parts.gateway.checkPrices(tables);
      if (problems.length > 0) {
        const message = "The prices are wrong.";
        const error = { code: "invalid_prices", message, param: "tables", problems };
        return respondWithJson({ error } satisfies ErrorBody, 400);
      }
      const lines = repriceAsLines(parts, { range, tables, signal: request.signal });
      return respond(200, lines, { "content-type": "application/jsonl; charset=utf-8" });
    },
  },
];

/** The kinds of tokens that a provider reports. */
const TOKENS = [
  "output_tokens",
  "total_tokens",
  "output_image_tokens",
  "output_text_tokens",
  "input_text_tokens",
  "input_image_tokens",
  "cached_input_tokens",
] as const;
const MAX_IMAGES = 1_000;
const MAX_TOKENS = 1e12;

/** @throws GatewayError that names the wrong field */
function calculate(tables: PriceTables, asked: CalculateRequest): CalculatedCharge {
  const { model, group = "default", images, size, quality, layers = 0, referenceImages, tokens = {} } = asked;
  if (typeof model !== "string") throw invalid("model must be a string.", "model");
  if (typeof group !== "string") throw invalid("group must be a string.", "group");
  if (typeof tokens !== "object" || tokens === null) throw invalid("tokens must be an object.", "tokens");
  const details = tables.model_details[findRow(tables, model) ?? ""];
  if (details === undefined) throw invalid("The price table has no row for this model.", "model");
  const ratios = tables.group_ratio ?? {};
  const group_ratio = Object.hasOwn(ratios, group) ? ratios[group] : undefined;
  if (group_ratio === undefined) throw invalid("The price table has no such group.", "group");
  if (!isCount(images, MAX_IMAGES)) throw invalid("images must be a whole number from 0 to 1,000.", "images");
  if (!isCount(layers, images)) {
    throw invalid("layers must be a whole number of at most images.", "layers");
  }
  const counts = TOKENS.filter((kind) => tokens[kind] !== undefined).map(
    (kind) => [kind, tokens[kind]] as const,
  );
  const wrong = counts.find(([, count]) => !isCount(count, MAX_TOKENS));
  if (wrong !== undefined) throw invalid(`${wrong[0]} must be a whole number of at least 0.`, wrong[0]);
  try {
    return calculateCharge({
      details,
      group_ratio,
      usage: { generated_images: images, ...Object.fromEntries(counts) },
      images: Array.from({ length: images }, (_, index) => ({
        size,
        quality,
        ...(index < layers && { isLayer: true }),
      })),
      reference_images: referenceImages,
      requested_size: size,
    });
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new GatewayError("invalid_request_error", cause.message, { cause });
  }
}

/** The row of a model: its name, or the longest series that it belongs to. */
function findRow({ model_details }: PriceTables, model: string): string | undefined {
  if (Object.hasOwn(model_details, model)) return model;
  return Object.keys(model_details)
    .filter((row) => row.endsWith("*") && model.startsWith(row.slice(0, -1)))
    .toSorted((one, other) => other.length - one.length)[0];
}

function isCount(value: unknown, most: number): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= most;
}

function invalid(message: string, param: string): GatewayError {
  return new GatewayError("invalid_request_error", message, { param });
}
