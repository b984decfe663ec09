import { runBatches } from "../batches.ts";
import { drawJsonRequest, type RequestInput } from "../grammar/requests.ts";
import type { Part } from "../part.ts";
import { REQUEST_PLAN, replayRequest, shrinkRequest } from "../request-bench.ts";

/** Requests with a JSON body, in process. */
export const requests: Part<RequestInput> = {
  name: "requests",
  guarantees:
    "JSON requests to all endpoints, valid or changed in method, path, headers, structure, types, numbers, strings, " +
    "depth and bytes, cut into chunks at random places, through `gateway.fetch` and `gateway.handle`. Every request " +
    "gets a response: images if it is valid, else the error envelope with a documented code and never a 5xx. " +
    "Afterwards its slot, its bytes and its hold are free, one record exists if and only if the provider was called, " +
    "its charge is that of the images made, valid fields arrive at the provider as sent, and no key is in any output. " +
    "Other cuts or other white space change nothing.",
  weight: 2,
  isParallel: true,
  run: (context) => runBatches(context, REQUEST_PLAN, () => drawJsonRequest(context.random)),
  replay: (input, context) => replayRequest(context, input),
  shrink: shrinkRequest,
};
