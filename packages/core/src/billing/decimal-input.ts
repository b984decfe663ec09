/**
 * An amount, a price or a ratio: a plain decimal such as `"0.075"`. A number is taken as its
 * shortest decimal text, so `0.1` means exactly `0.1`.
 */
export type DecimalInput = string | number;
