import { fileURLToPath } from "node:url";

/** This package. */
export const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
/** The root of the workspace. */
export const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
/** What the opt-in command fetches is kept here, and goes with `node_modules`. */
export const CACHE = fileURLToPath(new URL("../node_modules/.cache/runtimes", import.meta.url));
