import { parseArgs } from "node:util";

/** The options of a target's process. */
export interface TargetOptions {
  /** The address of the upstream, such as `http://127.0.0.1:5000`. */
  readonly upstream: string;
  /** The number of callers. */
  readonly callers: number;
  /** The number of channels, all with the address of the upstream. */
  readonly channels: number;
}

/** Returns the options as arguments of a process. */
export function toArguments(options: TargetOptions): string[] {
  return Object.entries(options).map(([name, value]) => `--${name}=${value}`);
}

/** Reads the options from the arguments of this process. */
export function readTargetOptions(): TargetOptions {
  const { values } = parseArgs({
    options: {
      upstream: { type: "string", default: "" },
      callers: { type: "string", default: "1" },
      channels: { type: "string", default: "1" },
    },
  });
  return { upstream: values.upstream, callers: Number(values.callers), channels: Number(values.channels) };
}
