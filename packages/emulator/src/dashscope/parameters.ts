import { isJsonObject, type JsonObject } from "../json.js";
import type { DashscopeModel } from "./models.js";
import { invalidParameter } from "./refusals.js";

export interface Parameters {
  readonly n: number;
  /** Not looked at yet: whether it is right depends on the references. */
  readonly size: unknown;
  readonly watermark: boolean;
  readonly seed: number | undefined;
}

const maxSeed = 2 ** 31 - 1;

/** Unknown parameters are ignored; `null` counts as absent. */
export function readParameters(value: unknown, model: DashscopeModel): Parameters {
  const parameters = value ?? {};
  if (!isJsonObject(parameters)) throw invalidParameter("The parameters should be an object");
  readBoolean(parameters, "prompt_extend", true);
  checkNegativePrompt(parameters.negative_prompt);
  return {
    n: readCount(parameters.n, model),
    size: parameters.size,
    watermark: readBoolean(parameters, "watermark", false),
    seed: readSeed(parameters.seed),
  };
}

function readCount(n: unknown, { maxImages }: DashscopeModel): number {
  if (n === undefined || n === null) return 1;
  if (typeof n === "number" && Number.isInteger(n) && n >= 1 && n <= maxImages) return n;
  const allowed = maxImages === 1 ? "1" : `between 1 and ${maxImages}`;
  throw invalidParameter(`num_images_per_prompt must be ${allowed}`);
}

function readBoolean(parameters: JsonObject, name: string, fallback: boolean): boolean {
  const value = parameters[name] ?? fallback;
  if (typeof value !== "boolean") throw invalidParameter(`${name} must be a boolean`);
  return value;
}

/** Up to 500 characters count; what is more is dropped, and pictures here do not show it anyway. */
function checkNegativePrompt(value: unknown): void {
  if (value !== undefined && value !== null && typeof value !== "string") {
    throw invalidParameter("negative_prompt must be a string");
  }
}

function readSeed(seed: unknown): number | undefined {
  if (seed === undefined || seed === null) return undefined;
  if (typeof seed === "number" && Number.isInteger(seed) && seed >= 0 && seed <= maxSeed) return seed;
  throw invalidParameter(`seed must be an integer between 0 and ${maxSeed}`);
}
