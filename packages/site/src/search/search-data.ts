// The sections as modules of the site: `virtual:search/en` and `virtual:search/zh`, which the browser loads when the search opens.
import { readSections } from "./sections.ts";

const PREFIX = "virtual:search/";

/** A plugin for Vite. Each module exports the sections as a string of JSON, which browsers read faster than code. */
export function searchData() {
  return {
    name: "search-data",
    resolveId: (id: string) => (id.startsWith(PREFIX) ? `\0${id}` : undefined),
    load(id: string) {
      if (!id.startsWith(`\0${PREFIX}`)) return undefined;
      const language = id.endsWith("/zh") ? "zh" : "en";
      return `export default ${JSON.stringify(JSON.stringify(readSections(language)))};`;
    },
  };
}
