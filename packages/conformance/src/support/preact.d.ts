// In place of preact's own types, to which @auth/core refers: they would replace the types of Node by those of browsers.
export declare const h: unknown;
