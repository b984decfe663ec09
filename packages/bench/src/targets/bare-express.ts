import express from "express";
import { respondBare } from "./bare-response.ts";
import { serve } from "./serve.ts";

const app = express();
app.use(respondBare);
serve(app);
