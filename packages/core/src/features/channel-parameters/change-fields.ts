import type { FieldChanges } from "../../channels/channel.js";
import type { UpstreamBody } from "../../families/upstream-call.js";
import type { FormPart } from "../../images/form-body.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";

/**
 * Returns the body of a call with other fields. A form has only fields at its top level; objects in it are written as JSON.
 *
 * @throws Error if the family has written the body itself, as text or as bytes
 */
export function changeFields(body: UpstreamBody | undefined, changes: FieldChanges): UpstreamBody {
  if (typeof body === "object" && "json" in body) return { json: changeObject(body.json, changes) };
  if (typeof body === "object" && "form" in body) return { form: changeForm(body.form, changes) };
  throw new Error(
    "The family writes the body of its calls itself, so parameters of the channel cannot change it.",
  );
}

function changeObject(fields: JsonObject, changes: FieldChanges): JsonObject {
  const kept = (changes.remove ?? []).reduce((rest, path) => removeField(rest, path.split(".")), fields);
  return merge(merge(kept, changes.default ?? {}, false), changes.set ?? {}, true);
}

/** Objects are merged. Other values of `added` replace those of `fields`, or are taken only where there is none. */
function merge(fields: JsonObject, added: JsonObject, replaces: boolean): JsonObject {
  const merged = { ...fields };
  for (const [name, value] of Object.entries(added)) {
    const known = merged[name];
    if (isJsonObject(value)) merged[name] = merge(isJsonObject(known) ? known : {}, value, replaces);
    else if (replaces || known === undefined) merged[name] = value;
  }
  return merged;
}

function removeField(fields: JsonObject, [name = "", ...below]: readonly string[]): JsonObject {
  const { [name]: value, ...others } = fields;
  if (below.length === 0) return others;
  return isJsonObject(value) ? { ...fields, [name]: removeField(value, below) } : fields;
}

function changeForm(
  parts: readonly FormPart[],
  { set = {}, default: absent = {}, remove = [] }: FieldChanges,
): readonly FormPart[] {
  const dropped = new Set([...Object.keys(set), ...remove]);
  const kept = parts.filter(({ name }) => !dropped.has(name));
  const known = new Set(kept.map(({ name }) => name));
  const defaults = Object.entries(absent).filter(([name]) => !known.has(name) && !(name in set));
  return [
    ...kept,
    ...[...defaults, ...Object.entries(set)].map(([name, value]) => ({ name, value: writeField(value) })),
  ];
}

const writeField = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
