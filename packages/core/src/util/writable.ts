/** The same fields, which can be set. */
export type Writable<T> = { -readonly [Key in keyof T]: T[Key] };
