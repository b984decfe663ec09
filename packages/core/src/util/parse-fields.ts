import * as z from "zod/mini";
import { invalidRequest } from "../errors.js";
import type { JsonObject } from "./json.js";

/** The schema of an object has exactly the fields of its type. */
export type Fields<T> = Record<keyof T, z.ZodMiniType>;

/**
 * Checks fields against the schema of an object and returns them typed. A message of the schema continues the field's name,
 * for example `must be a whole number`. Each field is checked by its own schema: most fields of a schema are absent.
 *
 * @throws GatewayError `invalid_request_error` that names the first wrong field
 */
export function parseFields<Schema extends z.ZodMiniObject>(
  schema: Schema,
  fields: JsonObject,
): z.output<Schema> {
  const values: JsonObject = {};
  for (const name in schema.shape) {
    const field: z.core.$ZodType | undefined = schema.shape[name];
    // oxlint-disable-next-line no-underscore-dangle -- The documented place where zod says that a field may be absent.
    if (field === undefined || (field._zod.optin === "optional" && !(name in fields))) continue;
    const parsed = z.safeParse(field, fields[name]);
    if (!parsed.success) throw toFieldError(name, parsed.error.issues[0]);
    values[name] = parsed.data;
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Each field is the output of its schema.
  return values as z.output<Schema>;
}

function toFieldError(name: string, issue: z.core.$ZodIssue | undefined): Error {
  const param = formatPath([name, ...(issue?.path ?? [])]);
  return invalidRequest(`${param} ${issue?.message ?? "is not valid"}.`, param);
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
