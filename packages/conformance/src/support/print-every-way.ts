import { inspect } from "node:util";

/** Everything that a log, a debugger or a crash may print for some values. */
export function printEveryWay(...values: readonly unknown[]): string {
  return values.flatMap((value) => [inspect(value, WHOLE), toJson(value), String(value)]).join("\n");
}

const WHOLE = {
  depth: Infinity,
  showHidden: true,
  getters: true,
  maxArrayLength: null,
  maxStringLength: null,
} as const;

/** A value with circular references has no JSON. */
function toJson(value: unknown): string {
  const seen = new Set<unknown>();
  const withoutCircles = (_key: string, part: unknown): unknown => {
    if (typeof part === "bigint") return String(part);
    if (typeof part !== "object" || part === null) return part;
    if (seen.has(part)) return "seen";
    seen.add(part);
    return part;
  };
  return JSON.stringify(value, withoutCircles) ?? "";
}
