import { parseArgs } from "node:util";

/** What a target is told when it starts. */
export interface TargetOptions {
  /** Where the upstream listens, such as `http://127.0.0.1:5000`. */
  readonly upstream: string;
  /** How many callers hold a key. */
  readonly callers: number;
  /** How many channels there are; all lead to the upstream. */
  readonly channels: number;
}

/** As the arguments of a target's process. */
export function toArguments(options: TargetOptions): string[] {
  return Object.entries(options).map(([name, value]) => `--${name}=${value}`);
}

/** From the arguments of this process. */
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
