import { formatShort } from "../format.js";

/** A written amount in a column, moved so that the decimal points are below each other. */
export function Aligned({
  amount,
  places,
}: {
  readonly amount: string;
  /** The decimals of the longest amount of the column. */
  readonly places: number;
}) {
  const [, fraction] = amount.split(".");
  const missing = "0".repeat(Math.max(0, places - (fraction?.length ?? 0)));
  return (
    <span class="amount" data-missing={fraction === undefined && missing !== "" ? `.${missing}` : missing}>
      {amount}
    </span>
  );
}

/** An amount in a column of amounts. Its title is exact. */
export function AmountCell({
  amount,
  places,
  label,
  unit,
  isAside = false,
}: {
  /** `undefined` or `null`: it is not known. */
  readonly amount: string | null | undefined;
  /** See `placesOf`. */
  readonly places: number;
  /** The name of the column, which narrow windows show beside the amount. */
  readonly label: string;
  /** The currency, if the amounts of the column have several. */
  readonly unit?: string | undefined;
  /** Whether the column is left out beside a panel. */
  readonly isAside?: boolean;
}) {
  const isKnown = amount !== undefined && amount !== null;
  return (
    <td class={isAside ? "number aside" : "number"} data-label={label} title={isKnown ? amount : undefined}>
      {isKnown ? <Aligned amount={formatShort(amount)} places={places} /> : "–"}
      {isKnown && unit !== undefined && <span class="small soft"> {unit}</span>}
    </td>
  );
}
