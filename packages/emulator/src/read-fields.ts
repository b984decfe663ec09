import type { JsonObject } from "./json.js";
import type { Refusal } from "./refusal.js";

/** What is wrong with a field. Each provider says it with its own code and words. */
export interface FieldProblem {
  readonly kind:
    | "missing"
    | "unknown"
    | "wrong-type"
    | "wrong-value"
    | "too-small"
    | "too-large"
    | "too-long";
  readonly name: string;
  readonly value: unknown;
  /** What is expected: a type, a list of values, or the bound. */
  readonly expected: string;
}

/** Reads the fields of a body. `undefined` means that a field is absent; `null` counts as absent. */
export interface Fields {
  has(name: string): boolean;
  text(name: string, maxLength?: number): string | undefined;
  /** Refuses a text that is absent or empty. */
  requiredText(name: string, maxLength?: number): string;
  integer(name: string, min: number, max: number): number | undefined;
  number(name: string, min: number, max: number): number | undefined;
  boolean(name: string): boolean | undefined;
  choice<const Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined;
  /** Refuses all fields that are not in the list. */
  refuseUnknown(known: readonly string[]): void;
}

interface ReadingOptions {
  /** All fields of a form are strings: `"2"` is a number and `"true"` a boolean. */
  readonly isForm?: boolean;
  readonly refuse: (problem: FieldProblem) => Refusal;
}

export function readFields(body: JsonObject, { isForm = false, refuse }: ReadingOptions): Fields {
  const get = (name: string): unknown => (Object.hasOwn(body, name) ? (body[name] ?? undefined) : undefined);
  const fail = (kind: FieldProblem["kind"], name: string, expected: string) =>
    refuse({ kind, name, expected, value: get(name) });

  const readText = (name: string, maxLength = Number.POSITIVE_INFINITY) => {
    const value = get(name);
    if (value === undefined) return undefined;
    if (typeof value !== "string") throw fail("wrong-type", name, "a string");
    if (value.length > maxLength) throw fail("too-long", name, String(maxLength));
    return value;
  };
  const readNumber = (
    name: string,
    { min, max, type }: { min: number; max: number; type: "a number" | "an integer" },
  ) => {
    const value = get(name);
    if (value === undefined) return undefined;
    const number = isForm && typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    const isRight = typeof number === "number" && Number.isFinite(number);
    if (!isRight || (type === "an integer" && !Number.isInteger(number)))
      throw fail("wrong-type", name, type);
    if (number < min) throw fail("too-small", name, String(min));
    if (number > max) throw fail("too-large", name, String(max));
    return number;
  };
  return {
    has: (name) => get(name) !== undefined,
    text: readText,
    requiredText(name, maxLength) {
      const text = readText(name, maxLength);
      if (text === undefined || text === "") throw fail("missing", name, "a string");
      return text;
    },
    integer: (name, min, max) => readNumber(name, { min, max, type: "an integer" }),
    number: (name, min, max) => readNumber(name, { min, max, type: "a number" }),
    boolean(name) {
      const value = get(name);
      if (value === undefined || typeof value === "boolean") return value;
      if (isForm && (value === "true" || value === "false")) return value === "true";
      throw fail("wrong-type", name, "a boolean");
    },
    choice(name, choices) {
      const value = readText(name);
      if (value === undefined) return undefined;
      const found = choices.find((choice) => choice === value);
      if (found === undefined) throw fail("wrong-value", name, listChoices(choices));
      return found;
    },
    refuseUnknown(known) {
      const unknown = Object.keys(body).find((name) => !known.includes(name));
      if (unknown !== undefined) throw fail("unknown", unknown, known.join(", "));
    },
  };
}

/** `'low', 'medium', and 'high'`, as OpenAI lists values. */
function listChoices(choices: readonly string[]): string {
  const quoted = choices.map((choice) => `'${choice}'`);
  if (quoted.length <= 2) return quoted.join(" and ");
  return `${quoted.slice(0, -1).join(", ")}, and ${quoted.at(-1)}`;
}
