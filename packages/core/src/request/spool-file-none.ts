import type { OpenSpoolFile } from "./spool-file.js";

/** Runtimes other than Node: all is kept in memory. */
export const openSpoolFile: OpenSpoolFile = undefined;
