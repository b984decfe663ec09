// With telemetry, and without an SDK: the API records nothing.
import { toNodeHandler } from "@calotype/node";
import { createTelemetry } from "@calotype/opentelemetry";
import { createCalotype } from "./create-calotype.ts";
import { serve } from "./serve.ts";
import { readTargetOptions } from "./target-options.ts";

serve(toNodeHandler(createCalotype(readTargetOptions(), { telemetry: createTelemetry() })));
