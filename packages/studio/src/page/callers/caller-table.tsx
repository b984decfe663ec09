import type { CallerRow } from "../../wire.js";
import { Status } from "../components/feedback.js";
import { formatAmount, padAmounts } from "../format.js";
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
  const [left, held, spent] = (["left", "held", "settled"] as const).map((name) =>
    padAmounts(callers.map((caller) => caller.spent?.[name] ?? "")),
  );
  return (
    <div class="table-frame" tabIndex={0} role="group" aria-label={text.title}>
      <table>
        <thead>
          <tr>
            <th>{text.caller}</th>
            <th>{text.budgetUse}</th>
            <th class="number">{text.left}</th>
            <th class="number">{text.held}</th>
            <th class="number">{text.spent}</th>
            <th class="number">{text.budget}</th>
            <th>{text.limitNow}</th>
            {hasGroups && <th>{text.group}</th>}
            <th>{text.state}</th>
          </tr>
        </thead>
        <tbody>
          {callers.map((caller, index) => (
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
              <BudgetCells
                caller={caller}
                pads={{ left: left?.[index], held: held?.[index], spent: spent?.[index] }}
              />
              <td class="fixed">
                <TightestLimit caller={caller} />
              </td>
              {hasGroups && <td class="name">{caller.group ?? "default"}</td>}
              <td>
                <CallerState caller={caller} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function CallerState({ caller: { state } }: { readonly caller: CallerRow }) {
  const { callers: text } = useMessages();
  const tones = { fixed: "good", active: "good", revoked: "none", damaged: "bad" } as const;
  return <Status tone={tones[state]}>{text.states[state]}</Status>;
}

function BudgetCells({
  caller,
  pads,
}: {
  readonly caller: CallerRow;
  readonly pads: Readonly<Record<"left" | "held" | "spent", string | undefined>>;
}) {
  const { callers: text } = useMessages();
  const { spent, budget, budgetProblem } = caller;
  if (spent === undefined) return <td colSpan={5}>{budgetProblem}</td>;
  const period = typeof budget === "object" ? budget.period : undefined;
  return (
    <>
      <td>
        <BudgetUse caller={caller} />
      </td>
      <td class="number" data-pad={pads.left}>
        {spent.left === undefined ? "–" : formatAmount(spent.left)}
      </td>
      <td class="number" data-pad={pads.held}>
        {formatAmount(spent.held)}
      </td>
      <td class="number" data-pad={pads.spent}>
        {formatAmount(spent.settled)}
      </td>
      <td class="number">
        {spent.limit === undefined ? (
          "–"
        ) : (
          <>
            {formatAmount(spent.limit)} <span class="small soft">{text.periods[period ?? "total"]}</span>
          </>
        )}
      </td>
    </>
  );
}
