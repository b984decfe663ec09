import type { JsonObject } from "../json.js";
import { invalidParameter } from "./refusals.js";

/** `null` counts as absent everywhere. */
export function booleanOr(body: JsonObject, name: string, fallback: boolean): boolean {
  const value = body[name] ?? fallback;
  if (typeof value !== "boolean") throw invalidParameter(name, "expected a boolean");
  return value;
}

export function oneOf<const Choice extends string>(
  body: JsonObject,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const value = body[name] ?? undefined;
  if (value === undefined) return undefined;
  const choice = choices.find((candidate) => candidate === value);
  if (choice === undefined) throw invalidParameter(name, `expected one of ${choices.join(", ")}`);
  return choice;
}

export function integerIn(
  value: unknown,
  name: string,
  range: { min: number; max: number },
): number | undefined {
  if (value === undefined || value === null) return undefined;
  const isRight =
    typeof value === "number" && Number.isInteger(value) && value >= range.min && value <= range.max;
  if (!isRight) throw invalidParameter(name, `expected an integer from ${range.min} to ${range.max}`);
  return value;
}
