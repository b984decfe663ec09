/** A part of the options that may change: as it is, or a function that reads it, such as from a file or a back office. */
export type Loadable<T> = T | (() => T | Promise<T>);
