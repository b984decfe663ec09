import { describeRequire } from "./describe-require.ts";
import { describeRuntime } from "./describe-runtime.ts";

/** The workspace brings it: these tests run on it, and those of core as well. */
const runtime = { kind: "node", name: "Node 24", program: process.execPath, leftOut: undefined } as const;

describeRuntime(runtime, { version: /^Node 24\./, cannot: [] });
describeRequire(runtime);
