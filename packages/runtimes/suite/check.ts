import type { Bench } from "./bench.ts";

/** One thing that a gateway does on every runtime. */
export interface Check {
  /** Observable behaviour; a host names it in `cannot` where the runtime is not able to. */
  readonly name: string;
  /** Rejects when the runtime does not do it. */
  readonly run: (bench: Bench) => Promise<void>;
}
