import type { BudgetStatus, CallerRow } from "../../wire.js";
import { Aligned, AmountCell } from "../components/amount-cell.js";
import { Status } from "../components/feedback.js";
import { ListTable } from "../components/list-table.js";
import { useUnits } from "../currency.js";
import { formatShort, placesOf } from "../format.js";
import { useMessages } from "../messages/index.js";
import { followLink } from "../router.js";
import { BudgetUse, TightestLimit } from "./closeness.js";
import { addressOfCallers, type CallerSelection } from "./selection.js";

/** A page of callers. The name opens the panel. */
export function CallerTable({
  callers,
  selection,
  hasGroups,
}: {
  readonly callers: readonly CallerRow[];
  readonly selection: CallerSelection;
  /** False if all callers have the same group. */
  readonly hasGroups: boolean;
}) {
  const { callers: text } = useMessages();
  const { named } = useUnits();
  const placesIn = (read: (status: BudgetStatus) => string | undefined): number =>
    placesOf(callers.map(({ spent }) => spent && read(spent)));
  const places = {
    left: placesIn(({ left }) => left),
    held: placesIn(({ held }) => held),
    settled: placesIn(({ settled }) => settled),
    limit: placesIn(({ limit }) => limit),
  };
  return (
    <ListTable
      label={text.title}
      kind="callers"
      columns={[
        text.caller,
        text.budgetUse,
        [named(text.left), "number"],
        [named(text.held), "number aside"],
        [named(text.spent), "number"],
        [named(text.budget), "number"],
        [text.limitNow, "aside"],
        hasGroups && [text.group, "aside"],
        [text.state, "aside"],
      ]}
    >
      <tbody>
        {callers.map((caller) => (
          <tr key={caller.id} class={caller.id === selection.caller ? "chosen" : undefined}>
            <td class="name">
              <a
                href={addressOfCallers({ ...selection, caller: caller.id })}
                title={caller.id}
                onClick={followLink}
              >
                {caller.id}
              </a>
            </td>
            <BudgetCells caller={caller} places={places} />
            <td class="fixed aside whole" data-label={text.limitNow}>
              <TightestLimit caller={caller} />
            </td>
            {hasGroups && (
              <td class="name aside" data-label={text.group}>
                {caller.state === "user" ? "–" : (caller.group ?? "default")}
              </td>
            )}
            <td class="aside whole" data-label={text.state}>
              <CallerState caller={caller} />
            </td>
          </tr>
        ))}
      </tbody>
    </ListTable>
  );
}

export function CallerState({ caller: { state } }: { readonly caller: CallerRow }) {
  const { callers: text } = useMessages();
  const tones = { fixed: "none", user: "none", active: "good", revoked: "none", damaged: "bad" } as const;
  return <Status tone={tones[state]}>{text.states[state]}</Status>;
}

function BudgetCells({
  caller,
  places,
}: {
  readonly caller: CallerRow;
  readonly places: Readonly<Record<"left" | "held" | "settled" | "limit", number>>;
}) {
  const { callers: text } = useMessages();
  const { spent, budget, budgetProblem } = caller;
  if (spent === undefined) return <td colSpan={5}>{budgetProblem}</td>;
  const period = typeof budget === "object" ? budget.period : undefined;
  return (
    <>
      <td class="whole" data-label={text.budgetUse}>
        <BudgetUse caller={caller} />
      </td>
      <AmountCell amount={spent.left} places={places.left} label={text.left} />
      <AmountCell amount={spent.held} places={places.held} label={text.held} isAside />
      <AmountCell amount={spent.settled} places={places.settled} label={text.spent} />
      <td class="number" data-label={text.budget} title={spent.limit}>
        {spent.limit === undefined ? (
          "–"
        ) : (
          <span>
            <Aligned amount={formatShort(spent.limit)} places={places.limit} />{" "}
            <span class="small soft">{text.periods[period ?? "total"]}</span>
          </span>
        )}
      </td>
    </>
  );
}
