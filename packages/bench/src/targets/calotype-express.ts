import { toExpressHandler } from "@calotype/express";
import express from "express";
import { createCalotype } from "./create-calotype.ts";
import { serve } from "./serve.ts";
import { readTargetOptions } from "./target-options.ts";

const app = express();
app.use(toExpressHandler(createCalotype(readTargetOptions())));
serve(app);
