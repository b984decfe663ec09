import { respondBare } from "./bare-response.ts";
import { serve } from "./serve.ts";

serve(respondBare);
