import { sha256 } from "../../util/sha256.js";
import type { BudgetAlert } from "../budgets/budget-store.js";
import type { NewAlertMessage } from "../outbox/outbox.js";
import type { OutgoingMessage } from "./send.js";

/** The messages about an alert for the endpoints with these names. Their ids are the same on every process. */
export function createAlertMessages({ id }: BudgetAlert, endpoints: Iterable<string>): NewAlertMessage[] {
  return Array.from(endpoints, (endpoint) => ({ id: toMessageId(JSON.stringify([id, endpoint])), endpoint }));
}

/** The message about an alert. It is the same each time and at each endpoint, so that a receiver can recognize it by its id. */
export function toAlertMessage({
  id,
  caller,
  threshold,
  budget,
  settled,
  period,
  time,
}: BudgetAlert): OutgoingMessage {
  return {
    id: toMessageId(id),
    body: JSON.stringify({
      type: "budget.threshold_reached",
      timestamp: time,
      data: {
        object: "budget.alert",
        caller,
        threshold,
        budget,
        settled,
        ...(period && {
          period: {
            unit: period.unit,
            time_zone: period.timeZone,
            starts_at: period.from / 1000,
            ends_at: period.to / 1000,
          },
        }),
      },
    }),
  };
}

const ID_LENGTH = 32;

const toMessageId = (name: string): string => `msg_${sha256(name).slice(0, ID_LENGTH)}`;
