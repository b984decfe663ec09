import { formatPlaces } from "../format.js";

/** An amount in a column of amounts, which all have the same number of decimals. Its title is exact. */
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
      {isKnown ? formatPlaces(amount, places) : "–"}
      {isKnown && unit !== undefined && <span class="small soft"> {unit}</span>}
    </td>
  );
}
