import { useState } from "preact/hooks";
import { ActionButton } from "../components/action-button.js";
import { useMessages } from "../messages/index.js";
import { datesOf, PERIODS, type Period, readDates } from "./period.js";
import { goTo, type Selection } from "./selection.js";

/** The period: one of several, or from one date to another. */
export function PeriodPicker({
  selection,
  period,
}: {
  readonly selection: Selection;
  readonly period: Period;
}) {
  const { usage: text } = useMessages();
  const isCustom = selection.period === "custom";
  return (
    <>
      <div class="segments" role="group" aria-label={text.period}>
        {PERIODS.map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={selection.period === name ? "true" : "false"}
            onClick={() =>
              // The dates begin with those of the period that was shown.
              goTo({
                ...selection,
                period: name,
                dates: name === "custom" ? datesOf(period) : undefined,
                span: undefined,
              })
            }
          >
            {text.periods[name]}
          </button>
        ))}
      </div>
      {isCustom && <DatesForm key={`${period.from} ${period.to}`} selection={selection} period={period} />}
    </>
  );
}

function DatesForm({ selection, period }: { readonly selection: Selection; readonly period: Period }) {
  const { usage: text } = useMessages();
  const [{ from, to }, setDates] = useState(() => selection.dates ?? datesOf(period));
  const dates = readDates(from, to);
  return (
    <form
      class="dates"
      onSubmit={(event) => {
        event.preventDefault();
        if (dates !== undefined) goTo({ ...selection, dates, span: undefined });
      }}
    >
      <label>
        {text.fromDate}
        <input
          type="date"
          required
          value={from}
          onInput={({ currentTarget }) => setDates({ from: currentTarget.value, to })}
        />
      </label>
      <label>
        {text.toDate}
        <input
          type="date"
          required
          value={to}
          onInput={({ currentTarget }) => setDates({ from, to: currentTarget.value })}
        />
      </label>
      <ActionButton type="submit" isOff={dates === undefined}>
        {text.show}
      </ActionButton>
      <p class="problem" role="status">
        {dates === undefined && from !== "" && to !== "" && text.wrongDates}
      </p>
    </form>
  );
}
