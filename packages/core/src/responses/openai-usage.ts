import type { Usage } from "../types.js";
import type { JsonObject } from "../util/json.js";

/**
 * Adds `input_tokens`, the name that OpenAI's clients read, to a report of usage: the tokens that are not output. Returns
 * the same object if the provider did not report both numbers, or reported `input_tokens` itself.
 */
export function withInputTokens<Report extends Usage | JsonObject>(
  report: Report,
): Report | (Report & { readonly input_tokens: number }) {
  if ("input_tokens" in report) return report;
  const { total_tokens: total, output_tokens: output } = report;
  if (typeof total !== "number" || typeof output !== "number" || output > total) return report;
  return { ...report, input_tokens: total - output };
}
