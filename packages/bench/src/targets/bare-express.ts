import express from "express";
import { answerBare } from "./bare-answer.ts";
import { serve } from "./serve.ts";

const app = express();
app.use(answerBare);
serve(app);
