import { runBatches } from "../batches.ts";
import { drawJsonRequest, type RequestInput } from "../grammar/requests.ts";
import type { Part } from "../part.ts";
import { REQUEST_PLAN, replayRequest, shrinkRequest } from "../request-bench.ts";

/** Requests with a JSON body, in process. */
export const requests: Part<RequestInput> = {
  name: "requests",
  guarantees:
    "Sends JSON requests to all endpoints through `gateway.fetch` and `gateway.handle`. They are valid, or " +
    "changed in method, path, headers, structure, types, numbers, strings, depth and bytes, and split into " +
    "chunks at random places. Every request gets a response: images if it is valid, otherwise the error " +
    "envelope with a documented code and never a 5xx. Afterwards its slot, its bytes and its hold are free, a " +
    "record exists if and only if the provider was called, the charge matches the images made, valid fields " +
    "arrive at the provider unchanged, and no output contains a key. Other chunks or other white space do not " +
    "change the result.",
  weight: 2,
  isParallel: true,
  run: (context) => runBatches(context, REQUEST_PLAN, () => drawJsonRequest(context.random)),
  replay: (input, context) => replayRequest(context, input),
  shrink: shrinkRequest,
};
