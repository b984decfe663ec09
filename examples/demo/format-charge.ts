import type { SettledRecord } from "@calotype/core";
import type { ChargeDerivation } from "@calotype/core/billing";

/** Formats a charge and its calculation: `0.25 × 4 images × 0.8 = 0.8`. */
export function formatCharge({ charge, derivation }: SettledRecord): string {
  if (derivation === undefined) return charge ?? "-";
  const rounded = derivation.decimal_places === undefined ? "" : `, rounded to ${charge}`;
  return `${formatFactors(derivation)} = ${derivation.exact}${rounded}`;
}

function formatFactors(derivation: ChargeDerivation): string {
  if ("lines" in derivation)
    return derivation.lines.map(({ what, amount }) => `${amount} (${what})`).join(" + ");
  switch (derivation.pricing_mode) {
    case "per-request": {
      const { count, model_price: price, group_ratio: ratio } = derivation;
      return `${price} × ${count} ${count === 1 ? "image" : "images"} × ${ratio}`;
    }
    case "per-token": {
      const { output_tokens: tokens, output_token_price: price, group_ratio: ratio } = derivation;
      return `${price} × ${tokens} tokens ÷ 1,000,000 × ${ratio}`;
    }
  }
}
