import { isFull } from "@calotype/conformance/support/test-run";
import { describeCoreTests } from "./describe-core-tests.ts";
import { describeRequire } from "./describe-require.ts";
import { describeRuntime } from "./describe-runtime.ts";
import { describeSqliteTests } from "./describe-sqlite-tests.ts";
import { findInstalled } from "./installed-runtimes.ts";

const runtime = findInstalled("Node 22");

// The oldest that `engines` allows.
describeRuntime(runtime, { version: /^Node 22\.19\.0: /, cannot: [] });
describeRequire(runtime);
// They take a minute. Not `describe.runIf`, which counts as skipped.
if (isFull()) {
  describeCoreTests(runtime);
  describeSqliteTests(runtime);
}
