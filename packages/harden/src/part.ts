import type { Random } from "@calotype/conformance/fleet-simulation/create-random";

/**
 * One part of the test run: it tries inputs until its time is over and reports what breaks a rule.
 *
 * An input is a JSON value. It holds everything that `replay` needs to do the same again.
 */
export interface Part<Input = unknown> {
  /** As `--parts` and the finding files name it, in kebab-case. */
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
  /** Tries one input and reports as `run` does. */
  replay(input: Input, context: PartContext<Input>): Promise<void>;
  /** Smaller inputs that may have the same defect, the most promising first. Without it, findings are not made smaller. */
  shrink?(input: Input): Iterable<Input>;
}

/** What the framework gives to a part. */
export interface PartContext<Input = unknown> {
  readonly seed: number;
  /** The only source of chance that a part may use. */
  readonly random: Random;
  /** True when the part must not begin another input. */
  isOver(): boolean;
  /** Milliseconds that are left; 0 when it is over. */
  msLeft(): number;
  /** The cases of a fixed set that this process runs: those with `index % of === this index`. */
  readonly share: { readonly index: number; readonly of: number };
  /** Adds to a figure of docs/hardening.md, such as `inputs` or `kills`. */
  count(figure: string, by?: number): void;
  /** Names the input under way, so that a crash of the process or an unhandled rejection is blamed on it. */
  begin(input: Input): void;
  /** Records a finding: makes the input smaller and writes the file that replays it. Await it. */
  report(finding: Finding<Input>): Promise<void>;
}

/** An input that broke a rule. */
export interface Finding<Input = unknown> {
  /** The rule that was broken, without details of the input. Findings with the same text are recorded once per run. */
  readonly rule: string;
  readonly input: Input;
  /** What was seen: the response, the charge, the log line. */
  readonly seen?: string | undefined;
}

/** The content of a finding file. */
export interface FindingFile extends Finding {
  readonly part: string;
  /** Of the process that found it. `--seed` with it repeats the whole run. */
  readonly seed: number;
  /** ISO 8601. */
  readonly date: string;
}
