import type { Random } from "@calotype/conformance/fleet-simulation/create-random";

/**
 * One part of the test run. It tries inputs until its time is over and reports those that break a rule.
 *
 * An input is a JSON value that holds everything that `replay` needs.
 */
export interface Part<Input = unknown> {
  /** In kebab-case, for `--parts` and the finding files. */
  readonly name: string;
  /** What holds if the part finds nothing, for docs/hardening.md. Plain text, one to four sentences. */
  readonly guarantees: string;
  /** Its share of the time of a run. Default 1. */
  readonly weight?: number;
  /** True if several processes may run it at once, each with a seed of its own. Default false. */
  readonly isParallel?: boolean;
  /**
   * Tries inputs until `context.isOver()`. A part with a fixed set of cases runs `context.share` of them first, in an
   * order that the seed decides, and ends early when it has run them all.
   */
  run(context: PartContext<Input>): Promise<void>;
  /** Tries one input, and reports like `run`. */
  replay(input: Input, context: PartContext<Input>): Promise<void>;
  /** Smaller inputs that may break the same rule, the most promising first. Absent: findings are not made smaller. */
  shrink?(input: Input): Iterable<Input>;
}

/** The functions of the framework for a part. */
export interface PartContext<Input = unknown> {
  readonly seed: number;
  /** The only source of random numbers that a part may use. */
  readonly random: Random;
  /** True when the part must not begin another input. */
  isOver(): boolean;
  /** The remaining time in milliseconds. */
  msLeft(): number;
  /** The cases of a fixed set that this process runs: those with `index % of === this index`. */
  readonly share: { readonly index: number; readonly of: number };
  /** Adds to a figure of docs/hardening.md, such as `inputs` or `kills`. */
  count(figure: string, by?: number): void;
  /** Notes the current input. An uncaught exception or an unhandled rejection is reported with it. */
  begin(input: Input): void;
  /** Makes the input smaller and writes the finding file. Await it. */
  report(finding: Finding<Input>): Promise<void>;
}

/** An input that broke a rule. */
export interface Finding<Input = unknown> {
  /** The rule that was broken, without details of the input. Findings with the same text are recorded once per run. */
  readonly rule: string;
  readonly input: Input;
  /** The observed response, charge or log line. */
  readonly seen?: string | undefined;
}

/** The content of a finding file. */
export interface FindingFile extends Finding {
  readonly part: string;
  /** The seed of the process. `--seed` with it repeats the run. */
  readonly seed: number;
  /** ISO 8601. */
  readonly date: string;
}
