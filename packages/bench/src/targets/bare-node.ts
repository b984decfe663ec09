import { answerBare } from "./bare-answer.ts";
import { serve } from "./serve.ts";

serve(answerBare);
