import { toNodeHandler } from "@calotype/node";
import { createCalotype } from "./create-calotype.ts";
import { serve } from "./serve.ts";
import { readTargetOptions } from "./target-options.ts";

serve(toNodeHandler(createCalotype(readTargetOptions())));
