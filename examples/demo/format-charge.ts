import type { SettledRecord } from "@calotype/core";
import type { ChargeDerivation } from "@calotype/core/billing";

/** Formats a charge and its calculation: `0.25 × 4 images × 0.8 = 0.8`. */
export function formatCharge({ charge, derivation }: SettledRecord): string {
  if (derivation === undefined) return charge ?? "-";
  const rounded = derivation.decimal_places === undefined ? "" : `, rounded to ${charge}`;
  return `${formatFactors(derivation)} = ${derivation.exact}${rounded}`;
}

function formatFactors(derivation: ChargeDerivation): string {
  if ("lines" in derivation) return derivation.lines.map((line) => formatLine(line, derivation)).join(" + ");
  switch (derivation.pricing_mode) {
    case "per-request": {
      const { count, model_price: price, group_ratio: ratio } = derivation;
      return `${price} × ${count} ${count === 1 ? "image" : "images"} × ${ratio}`;
    }
    case "per-token": {
      const { output_tokens: tokens, output_token_price: price, group_ratio: ratio } = derivation;
      const { other_tokens: input, input_token_price: inputPrice } = derivation;
      const ofOutput = `${price} × ${tokens}`;
      const sum = input === 0 ? ofOutput : `(${ofOutput} + ${inputPrice} × ${input})`;
      return `${sum} tokens ÷ 1,000,000 × ${ratio}`;
    }
  }
}

type Itemized = Extract<ChargeDerivation, { lines: unknown }>;

/** Formats one line of an itemized charge: `0.3 × 3 images × 0.8`. */
function formatLine(line: Itemized["lines"][number], { group_ratio: ratio }: Itemized): string {
  if (line.what === "rounding") return `${line.amount} (rounding)`;
  const { what, count, unit_price: price } = line;
  const name = what.replaceAll("_", " ");
  const isOfTokens = name.endsWith("tokens");
  const counted = isOfTokens || count === 1 ? name : `${name}s`;
  return `${price} × ${count} ${counted}${isOfTokens ? " ÷ 1,000,000" : ""} × ${ratio}`;
}
