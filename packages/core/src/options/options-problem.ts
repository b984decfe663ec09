/** One thing that is wrong with the options. */
export interface OptionsProblem {
  /** Where: `channels[0].apiKey`. */
  readonly path: string;
  readonly message: string;
}
