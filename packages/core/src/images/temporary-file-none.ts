import type { OpenTemporaryFile } from "./spooled-file.js";

/** Runtimes other than Node: all is kept in memory. */
export const openTemporaryFile: OpenTemporaryFile = undefined;
