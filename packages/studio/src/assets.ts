/** A file of the page: its path below `dist/page`, its content type, and its gzipped bytes as base64. */
export type BuiltFile = readonly [path: string, type: string, base64: string];

/**
 * Replaced by the files of `dist/page`, as JSON, when the package is built. So the page also works where there is no file
 * system.
 */
declare const BUILT_PAGE: string;

export const FILES: readonly BuiltFile[] = JSON.parse(BUILT_PAGE);
