import { formatPath } from "../util/parse-fields.js";
import { isSeries, overlaps } from "../util/series.js";
import type { LoadedOptions } from "./load.js";
import type { OptionsProblem } from "./options.js";

/** Checks the ids and names of channels, and that each model has a channel. */
export function* checkChannels({ channels, models }: LoadedOptions): Iterable<OptionsProblem> {
  const ids = new Set<string>();
  for (const [index, { id, modelMapping = {} }] of channels.entries()) {
    if (ids.has(id)) yield { path: `channels[${index}].id`, message: `is used twice: ${id}` };
    ids.add(id);
    for (const [model, target] of Object.entries(modelMapping)) {
      if (isSeries(target) && !isSeries(model)) {
        yield {
          path: formatPath(["channels", index, "modelMapping", model]),
          message: "maps one name to a series",
        };
      }
    }
  }
  for (const [model, { family }] of Object.entries(models)) {
    const served = channels.some(
      (channel) => channel.family === family && serves(channel.modelMapping, model),
    );
    if (!served) yield { path: formatPath(["models", model]), message: "is served by no channel" };
  }
}

/** Whether a mapping can serve a name. A series is served if any of its names can be. */
export function serves(mapping: Readonly<Record<string, string>> | undefined, model: string): boolean {
  return mapping === undefined || Object.keys(mapping).some((key) => overlaps(key, model));
}
