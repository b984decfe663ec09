import { createHash } from "node:crypto";

/** A script in Lua, which Redis runs as one step. */
export interface Script {
  readonly source: string;
  /** The SHA-1 of the source, by which Redis finds it. */
  readonly sha: string;
}

/** What a client's `eval` and `evalsha` take, so that a script is called in one way whatever the client. */
export type RunScript = (
  script: Script,
  keys: readonly string[],
  args: readonly string[],
) => Promise<unknown>;

export function createScript(source: string): Script {
  return { source, sha: createHash("sha1").update(source).digest("hex") };
}
