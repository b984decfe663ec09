import { onceForEachId } from "../../billing/delivery.js";
import type { EntryFailure } from "../../billing/ledger.js";
import type { Chore } from "../../contract/chore.js";
import { GatewayError } from "../../errors.js";
import type { Kernel } from "../../kernel/feature.js";
import { toEnvelope } from "../../responses/envelope.js";
import type { Tasks } from "./submit.js";
import { removeBodies } from "./task-body.js";

/** Ends the tasks of processes that died and the tasks that waited too long. */
export type SweepTasks = NonNullable<Chore["sweep"]>;

/** Creates the sweep of a gateway's tasks. */
export function createTaskSweep(
  { onLost, logger, track }: Pick<Kernel, "onLost" | "logger" | "track">,
  { store, objects }: Pick<Tasks, "store" | "objects">,
): SweepTasks {
  const onFailure = onceForEachId(({ id, error }: EntryFailure) => {
    logger.error({ task: id, err: error }, "A lost task cannot be ended; its money stays set aside.");
  });
  return async (own = false) => {
    try {
      const { lost, inputs } = await store.sweep({
        onLost,
        lostError: toErrorJson(createLostError()),
        expiredError: toErrorJson(createExpiredError()),
        own,
        onFailure,
      });
      if (lost.length > 0) {
        const requestIds = lost.map(({ id }) => id);
        logger.warn({ requestIds, onLost }, "Tasks were cut off; their holds became unresolved records.");
      }
      // Beside the sweep, because the ledger must not wait for the store of results.
      track(removeBodies(inputs, { objects, logger }));
    } catch (error) {
      logger.error({ err: error }, "The tasks could not be swept; retrying every 10 s.");
    }
  };
}

const createLostError = (): GatewayError =>
  new GatewayError(
    "outcome_unknown",
    "The server that ran this task ended before the provider responded. Images may have been made. The task is not " +
      "sent again; a new task may be charged a second time.",
  );

const createExpiredError = (): GatewayError =>
  new GatewayError("task_expired", "The task waited too long and was not sent. Nothing was charged.");

function toErrorJson(error: GatewayError): string {
  return JSON.stringify(toEnvelope(error, String).error);
}
