import type { AlertList as Alerts, ListedAlert } from "../../wire.js";
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
} as const satisfies Record<ListedAlert["state"], string>;

/** Loads the newest alerts, of one caller or of all. Empty if the ledger keeps none. */
export function useAlerts(caller?: string): Loaded<Alerts> {
  const path = caller === undefined ? "alerts" : `alerts?caller=${encodeURIComponent(caller)}`;
  return useData(path, (signal) => call<Alerts>(path, { signal }), EVERY_SECONDS);
}

export function countRecent(alerts: readonly ListedAlert[]): number {
  return alerts.filter(({ time }) => Date.parse(time) > Date.now() - DAY_MS).length;
}

/** Budgets of which a part was reached: how much was spent, when, and whether someone was told. */
export function AlertList({
  alerts,
  hasCallers = false,
}: {
  readonly alerts: readonly ListedAlert[];
  /** Whether the alerts are of several callers. */
  readonly hasCallers?: boolean;
}) {
  const { callers: text, language } = useMessages();
  return (
    <ul class="history">
      {alerts.map(({ id, caller, threshold, budget, settled, period, time, state }) => (
        <li key={id}>
          {hasCallers && (
            <>
              <a href={addressOf("callers", { caller })} onClick={followLink}>
                {caller}
              </a>{" "}
            </>
          )}
          {text.reached(threshold, formatAmount(budget), text.periods[period?.unit ?? "total"] ?? "")}{" "}
          <span title={state === "not_sent" ? text.noReceiver : undefined}>
            <Status tone={TONES[state]}>{text.alertStates[state]}</Status>
          </span>
          <div class="small soft">
            {text.spentThen(formatAmount(settled))} · {formatTime(time, language)}
          </div>
        </li>
      ))}
    </ul>
  );
}
