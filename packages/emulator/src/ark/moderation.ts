import type { ArkErrorCode } from "./error-codes.js";
import { arkRefusal } from "./refusals.js";

const inputCodes = ["InputTextSensitiveContentDetected", "InputImageSensitiveContentDetected"] as const;
const outputCode = "OutputImageSensitiveContentDetected" satisfies ArkErrorCode;

/** A prompt that names a moderation code meets it: the way to try moderation without offending anybody. */
export function moderateInput(prompt: string): void {
  const named = inputCodes.find((code) => prompt.includes(code));
  if (named !== undefined) throw arkRefusal(named);
  if (prompt.includes("SensitiveContentDetected") && !prompt.includes(outputCode)) {
    throw arkRefusal("SensitiveContentDetected");
  }
}

/** Of a batch only the last image offends, so that a prompt alone can bring about a partial failure. */
export function isOutputRefused(prompt: string, index: number, count: number): boolean {
  return prompt.includes(outputCode) && index === count - 1;
}
