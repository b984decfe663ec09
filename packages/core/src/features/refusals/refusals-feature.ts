import { createRefusals } from "#refusals";
import type { Feature } from "../../kernel/feature.js";
import type { Refusals } from "./refusals.js";

/** What {@link refusals} adds to a gateway. */
export interface RefusalsApi {
  /** The requests that were refused, which have no usage record. Read-only. */
  readonly refusals: Refusals;
}

/** Logs refused requests, and finds them by their ids, also those of other processes if the ledger keeps them. */
export function refusals(): Feature<RefusalsApi> {
  return {
    name: "refusals",
    setup(kernel) {
      const recorder = createRefusals(kernel);
      return {
        refused: recorder.add,
        chores: [{ end: () => recorder.stop() }],
        api: { refusals: { find: (id) => recorder.find(id), list: (query) => recorder.list(query) } },
      };
    },
  };
}
