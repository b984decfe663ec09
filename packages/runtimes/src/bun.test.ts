import { WITHOUT_ADDRESSES } from "../suite/cannot.ts";
import { describeCoreTests } from "./describe-core-tests.ts";
import { describeRuntime } from "./describe-runtime.ts";
import { findInstalled, isCi } from "./installed-runtimes.ts";

const runtime = findInstalled("Bun");
const forCi = isCi() ? undefined : "half a minute, for CI and npm run test:runtimes";

describeRuntime(runtime, { version: /^Bun 1\.4\.5: /, cannot: Object.keys(WITHOUT_ADDRESSES) });
describeCoreTests({ ...runtime, leftOut: runtime.leftOut ?? forCi });
