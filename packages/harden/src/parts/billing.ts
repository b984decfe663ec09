import {
  type Charge,
  type ChargeInput,
  calculateCharge,
  type EstimateInput,
  estimateCharge,
} from "@calotype/core/billing";
import { type Broken, createFunctionPart, type FunctionCheck } from "../function-part.ts";
import { type ChargeCase, drawChargeCase, drawEstimateCase, type EstimateCase } from "../grammar/charges.ts";
import {
  add,
  type ExactAmount,
  formatExact,
  isAtMost,
  multiply,
  parseAmount,
  roundHalfUp,
  toAmount,
} from "./billing/exact-amount.ts";

const MAX_MESSAGE = 200;
const PIXELS_PER_TOKEN = 256;
const DEFAULT_PIXELS = 4096 * 4096;
const MILLIONTH: ExactAmount = { units: 1n, places: 6 };

/** What a charge should be. */
interface ExpectedCharge {
  readonly exact: ExactAmount;
  readonly amount: ExactAmount;
  readonly counts: Readonly<Record<string, unknown>>;
}

/** The functions of the billing calculator. Tests replace them with broken ones. */
export interface Calculator {
  calculateCharge(input: ChargeInput): Charge;
  estimateCharge(input: EstimateInput): Charge;
}

export function createBillingChecks(calculator: Calculator): readonly FunctionCheck[] {
  return [createChargeCheck(calculator), createEstimateCheck(calculator)];
}

/** `calculateCharge` against exact arithmetic. */
const createChargeCheck = (calculator: Calculator): FunctionCheck<ChargeCase> => ({
  name: "a charge",
  draw: drawChargeCase,
  findBroken(input) {
    const expected = expectCharge(input);
    const result = callCalculator(() => calculator.calculateCharge(toChargeInput(input)));
    if ("broken" in result) return result.broken;
    if (expected === undefined) {
      return (
        result.charge && { rule: "a charge: an unusable price, count or rounding is refused", seen: result }
      );
    }
    const { charge } = result;
    if (charge === undefined) return { rule: "a charge: usable prices and counts are charged", seen: input };
    const wanted = { exact: formatExact(expected.exact), ...expected.counts };
    if (charge.amount !== formatExact(expected.amount)) {
      return {
        rule: "a charge: the amount is exact and rounded once, half up",
        seen: [charge, formatExact(expected.amount)],
      };
    }
    const derivation: Readonly<Record<string, unknown>> = { ...charge.derivation };
    const wrong = Object.entries(wanted).find(([name, value]) => derivation[name] !== value);
    return (
      wrong && { rule: "a charge: the derivation names the numbers that were used", seen: [charge, wanted] }
    );
  },
});

/** `estimateCharge` against the charge of the largest report, and against a smaller one. */
const createEstimateCheck = (calculator: Calculator): FunctionCheck<EstimateCase> => ({
  name: "an estimate",
  weight: 0.5,
  draw: drawEstimateCase,
  findBroken(input) {
    const { details, group_ratio, request, share } = input;
    const { maxImages } = request;
    const maxPixels = request.maxPixels ?? DEFAULT_PIXELS;
    const result = callCalculator(() => calculator.estimateCharge(toEstimateInput(input)));
    if ("broken" in result) return result.broken;
    const { charge } = result;
    const isUsable = isCount(maxImages) && maxImages >= 1 && isCount(maxPixels) && maxPixels >= 1;
    const tokens = isUsable ? maxImages * Math.ceil(maxPixels / PIXELS_PER_TOKEN) : 0;
    const largest = [0, tokens].map((output_tokens) =>
      expectCharge({
        details,
        group_ratio,
        usage: { generated_images: maxImages, output_tokens, total_tokens: tokens },
      }),
    );
    const most = largest
      .map((expected) => expected?.amount)
      .reduce((a, b) => (a && b && isAtMost(b, a) ? a : b));
    if (!isUsable || most === undefined) {
      return charge && { rule: "an estimate: unusable prices and bounds are refused", seen: charge };
    }
    if (charge === undefined)
      return { rule: "an estimate: usable prices and bounds are estimated", seen: input };
    if (charge.amount !== formatExact(most)) {
      return {
        rule: "an estimate: it is the charge for the most images and tokens",
        seen: [charge, formatExact(most)],
      };
    }
    const made = Math.floor(share * tokens);
    const usage = {
      generated_images: Math.floor(share * maxImages),
      output_tokens: made,
      total_tokens: made,
    };
    const part = callCalculator(() =>
      calculator.calculateCharge(toChargeInput({ details, group_ratio, usage })),
    );
    if ("broken" in part) return part.broken;
    const amount = parseResult(part.charge?.amount);
    return amount !== undefined && isAtMost(amount, most)
      ? undefined
      : { rule: "an estimate: a charge within its bounds is not above it", seen: [charge, part.charge] };
  },
});

/** The billing calculator alone. */
export const billing = createFunctionPart(
  {
    name: "billing",
    guarantees:
      "Calls `calculateCharge` and `estimateCharge` with prices and ratios of up to 30 digits on either side of the " +
      "point, as texts and as numbers, counts up to the largest safe integer, all roundings, and values that must be " +
      "refused. Each amount and its derivation equal those of a model with whole numbers of any size, no charge is " +
      "above its estimate, and anything unusable throws a RangeError with a short message. An input is one set of " +
      "prices, counts and rounding.",
    weight: 0.5,
  },
  createBillingChecks({ calculateCharge, estimateCharge }),
);

type CalculatorResult = { readonly charge: Charge | undefined } | { readonly broken: Broken };

/** The charge, or `undefined` if the input was refused as documented. */
function callCalculator(run: () => Charge): CalculatorResult {
  try {
    return { charge: run() };
  } catch (error) {
    if (error instanceof RangeError && error.message.length <= MAX_MESSAGE) return { charge: undefined };
    return { broken: { rule: "a charge is refused with a RangeError and a short message", seen: error } };
  }
}

/** The charge by the documented formula; `undefined` for an input that must be refused. */
function expectCharge({ details, usage, group_ratio }: ChargeCase): ExpectedCharge | undefined {
  const places = details["decimal_places"];
  const ratio = group_ratio === undefined ? toAmount(1) : parseAmount(group_ratio);
  const isRounding = isCount(places) && places <= 30;
  if (ratio === undefined || (places !== undefined && !isRounding)) return undefined;
  const base =
    details["pricing_mode"] === "per-request"
      ? expectPerRequest(details, usage ?? {})
      : expectPerToken(details, usage ?? {});
  if (base === undefined) return undefined;
  const exact = multiply(base.exact, ratio);
  return { exact, amount: isRounding ? roundHalfUp(exact, places) : exact, counts: base.counts };
}

type Base = Pick<ExpectedCharge, "exact" | "counts"> | undefined;

function expectPerRequest(details: ChargeCase["details"], { generated_images: count = 1 }: Usage): Base {
  const price = parseAmount(details["model_price"]);
  if (price === undefined || !isCount(count)) return undefined;
  return { exact: multiply(price, toAmount(count)), counts: { count } };
}

function expectPerToken(details: ChargeCase["details"], usage: Usage): Base {
  const { output_tokens: output, total_tokens: total } = usage;
  const outputPrice = parseAmount(details["output_token_price"]);
  // `null` is a price that is not set, as a back office may store it.
  const inputPrice = parseAmount(details["input_token_price"] ?? "0");
  const isPriced =
    details["pricing_mode"] === "per-token" && outputPrice !== undefined && inputPrice !== undefined;
  if (!isPriced || !isCount(output ?? 0) || !isCount(total ?? 0)) return undefined;
  if (output === null || total === null) return undefined;
  const outputTokens = Number(output ?? total ?? 0);
  const otherTokens = Math.max(0, Number(total ?? outputTokens) - outputTokens);
  const perMillion = add(
    multiply(outputPrice, toAmount(outputTokens)),
    multiply(inputPrice, toAmount(otherTokens)),
  );
  const unpriced = output === undefined && total === undefined;
  return {
    exact: multiply(perMillion, MILLIONTH),
    counts: { output_tokens: outputTokens, other_tokens: otherTokens, unpriced },
  };
}

type Usage = NonNullable<ChargeCase["usage"]>;

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function parseResult(amount: string | undefined): ExactAmount | undefined {
  const [whole = "", fraction = ""] = amount?.split(".") ?? [];
  return amount === undefined ? undefined : { units: BigInt(whole + fraction), places: fraction.length };
}

/** The types of the calculator are narrower than what its callers in JavaScript may send. */
function toChargeInput({ usage, ...rest }: ChargeCase): ChargeInput {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The calculator must refuse values of other types.
  return { ...rest, usage: usage ?? undefined } as unknown as ChargeInput;
}

function toEstimateInput({ share: _share, ...rest }: EstimateCase): EstimateInput {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- As above.
  return rest as unknown as EstimateInput;
}
