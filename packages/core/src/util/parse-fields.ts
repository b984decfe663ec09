import type * as z from "zod/mini";
import { invalidRequest } from "../errors.js";
import type { JsonObject } from "./json.js";

/**
 * Checks fields against a schema and returns them typed. A message of the schema continues the field's name, for
 * example `must be a whole number`.
 *
 * @throws GatewayError `invalid_request_error` that names the first wrong field
 */
export function parseFields<Schema extends z.ZodMiniType>(
  schema: Schema,
  fields: JsonObject,
): z.output<Schema> {
  const parsed = schema.safeParse(fields);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const param = formatPath(issue?.path ?? []);
  throw invalidRequest(`${param} ${issue?.message ?? "is not valid"}.`, param);
}

/** Writes `["image", 2]` as `image[2]`, `["models", "image-2.0*"]` as `models["image-2.0*"]`. */
export function formatPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((written, key) => {
    if (typeof key === "number") return `${written}[${key}]`;
    const name = String(key);
    if (!/^[\w-]+$/.test(name)) return `${written}[${JSON.stringify(name)}]`;
    return written === "" ? name : `${written}.${name}`;
  }, "");
}
