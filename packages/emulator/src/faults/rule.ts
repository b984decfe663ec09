import { isJsonObject } from "../json.js";

/** Checks one field. Throws a `TypeError` that says what is wrong. The path is, for example, `body.pauseMs`. */
export type Rule = (value: unknown, path: string) => void;

/** A rule with one condition. The message says what was expected. */
export function must(isRight: (value: unknown) => boolean, expected: string): Rule {
  return (value, path) => {
    if (!isRight(value)) throw new TypeError(`The fault's "${path}" must be ${expected}.`);
  };
}

/** An object with these fields and no others. A field that is `undefined` counts as absent. */
export function objectOf(rules: Readonly<Record<string, Rule>>): Rule {
  return (value, path) => {
    const whole = path === "" ? "A fault" : `The fault's "${path}"`;
    if (!isJsonObject(value)) throw new TypeError(`${whole} must be an object.`);
    for (const [name, given] of Object.entries(value)) {
      const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
      if (rule === undefined) {
        throw new TypeError(`${whole} has no field "${name}". Its fields: ${Object.keys(rules).join(", ")}.`);
      }
      if (given !== undefined) rule(given, path === "" ? name : `${path}.${name}`);
    }
  };
}

/** A timer with a longer delay would fire at once. */
const longestDelay = 2 ** 31 - 1;

export const text = must(isText, "a non-empty string");
export const flag = must((value) => value === true, "true or absent");
export const count = must(isCount, "a whole number, 0 or more");
export const duration = must(isDuration, `a number from 0 to ${longestDelay}`);

export function oneOf(...choices: readonly string[]): Rule {
  const listed = choices.map((choice) => `"${choice}"`).join(" or ");
  return must((value) => typeof value === "string" && choices.includes(value), listed);
}

/** A number that is at least `least`, or a range `{ min, max }` of such numbers. */
export function amount(least: number): Rule {
  const isOne = (value: unknown) => isCount(value) && value >= least && value <= longestDelay;
  const isRange = (value: unknown) =>
    isJsonObject(value) &&
    Object.keys(value).every((name) => name === "min" || name === "max") &&
    isOne(value.min) &&
    isOne(value.max) &&
    Number(value.min) <= Number(value.max);
  return must(
    (value) => isOne(value) || isRange(value),
    `a whole number, ${least} or more, or a range { min, max }`,
  );
}

export function isFiniteNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

export function isCount(value: unknown): value is number {
  return isFiniteNumber(value) && Number.isInteger(value) && value >= 0;
}

function isDuration(value: unknown): boolean {
  return isFiniteNumber(value) && value >= 0 && value <= longestDelay;
}

export function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}
