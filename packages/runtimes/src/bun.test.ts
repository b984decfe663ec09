import { isFull } from "@calotype/conformance/support/test-run";
import { WITHOUT_ADDRESSES } from "../suite/cannot.ts";
import { describeCoreTests } from "./describe-core-tests.ts";
import { describeRuntime } from "./describe-runtime.ts";
import { findInstalled } from "./installed-runtimes.ts";

const runtime = findInstalled("Bun");

describeRuntime(runtime, { version: /^Bun 1\.4\.5: /, cannot: Object.keys(WITHOUT_ADDRESSES) });
// It takes half a minute. Not `describe.runIf`, which counts as skipped.
if (isFull()) describeCoreTests(runtime);
