import { runBatches } from "../batches.ts";
import { drawFormRequest } from "../grammar/forms.ts";
import type { RequestInput } from "../grammar/requests.ts";
import type { Part } from "../part.ts";
import { REQUEST_PLAN, replayRequest, shrinkRequest } from "../request-bench.ts";

/** Multipart forms, in process. */
export const forms: Part<RequestInput> = {
  name: "forms",
  guarantees:
    "Sends multipart forms from a grammar: delimiters with padding, missing, early, nested or inside the " +
    "content, preambles and epilogues, unusual headers, file names and encodings, images under all their names, " +
    "many parts. The forms are split into chunks at random places and at every byte. Every form gets a " +
    "response, also if its last delimiter is missing or comes early. The rules of `requests` hold, and the " +
    "images of a valid form arrive at the provider unchanged and in order.",
  weight: 2,
  isParallel: true,
  run: (context) => runBatches(context, REQUEST_PLAN, () => drawFormRequest(context.random)),
  replay: (input, context) => replayRequest(context, input),
  shrink: shrinkRequest,
};
