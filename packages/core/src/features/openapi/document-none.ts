import type { JsonObject } from "../../util/json.js";

/** Workers are one file, in which the document would be large. There it is passed as an option. */
export const openApiDocument: JsonObject | undefined = undefined;
