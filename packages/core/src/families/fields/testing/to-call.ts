import { isJsonObject, type JsonObject, toObject } from "../../../util/json.js";
import type { Family } from "../../family.js";

/** The path and the JSON that a family sends for fields of a client, with its row of the model. */
export function toCall(family: Family, model: string, fields: object): { path: string; json: JsonObject } {
  const request = family.normalize(
    { prompt: "p", ...fields },
    {
      operation: "generate",
      model,
      capabilities: family.findCapabilities?.(model),
      defaultResponseFormat: undefined,
      maxUpstreamCalls: 4,
    },
  );
  const { path, body } = family.toUpstream(request, model);
  const written: unknown = JSON.parse(JSON.stringify(body));
  return { path, json: toObject(isJsonObject(written) && written["json"]) };
}
