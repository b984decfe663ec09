import type { OpenTemporaryFile } from "./spooled-file.js";

/** Other runtimes than Node keep all uploads in memory. */
export const openTemporaryFile: OpenTemporaryFile = undefined;
