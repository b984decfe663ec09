import type { AlertList as Alerts, ShownAlert } from "../../wire.js";
import { call } from "../api.js";
import { Status } from "../components/feedback.js";
import { formatAmount, formatTime } from "../format.js";
import { useMessages } from "../messages/index.js";
import { addressOf, followLink } from "../router.js";
import { type Loaded, useData } from "../use-data.js";

const EVERY_SECONDS = 10;
const DAY_MS = 86_400_000;
const TONES = {
  waiting: "warn",
  delivered: "good",
  given_up: "bad",
  not_sent: "none",
} as const satisfies Record<ShownAlert["state"], string>;

/** Loads the newest alerts, of one caller or of all. Empty if the ledger keeps none. */
export function useAlerts(caller?: string): Loaded<Alerts> {
  const path = caller === undefined ? "alerts" : `alerts?caller=${encodeURIComponent(caller)}`;
  return useData(path, (signal) => call<Alerts>(path, { signal }), EVERY_SECONDS);
}

export function countRecent(alerts: readonly ShownAlert[]): number {
  return alerts.filter(({ time }) => Date.parse(time) > Date.now() - DAY_MS).length;
}

/** The alerts about budgets: what was spent, when, and whether the alert was sent. */
export function AlertList({
  alerts,
  hasCallers = false,
}: {
  readonly alerts: readonly ShownAlert[];
  /** Whether the alerts are of several callers. */
  readonly hasCallers?: boolean;
}) {
  const { callers: text, language } = useMessages();
  return (
    <ul class="history">
      {alerts.map((alert) => {
        const { id, caller, threshold, budget, settled, period, time } = alert;
        return (
          <li key={id}>
            {hasCallers && (
              <>
                <a href={addressOf("callers", { caller })} onClick={followLink}>
                  {caller}
                </a>{" "}
              </>
            )}
            {text.reached(threshold, formatAmount(budget), text.periods[period?.unit ?? "total"] ?? "")}{" "}
            <Delivery alert={alert} />
            <div class="small soft">
              {text.spentThen(formatAmount(settled))} · {formatTime(time, language)}
            </div>
          </li>
        );
      })}
    </ul>
  );
}

/** Whether an alert was delivered, and to whom. */
function Delivery({ alert: { state, isForOnBudget, endpoints } }: { readonly alert: ShownAlert }) {
  const { callers: text } = useMessages();
  const receivers = [...(isForOnBudget ? ["onBudget"] : []), ...endpoints];
  const shown = receivers.length === 0 && state === "delivered" ? "not_sent" : state;
  const words = text.alertStates[shown];
  return (
    <span title={shown === "not_sent" ? text.noReceiver : undefined}>
      <Status tone={TONES[shown]}>
        {shown === "not_sent" ? words : text.alertTo(words, receivers.join(", "))}
      </Status>
    </span>
  );
}
