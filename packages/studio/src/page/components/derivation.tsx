import type { ChargeDerivation } from "../../wire.js";
import { formatCount, formatPlaces, longestFraction } from "../format.js";
import { type Messages, useMessages } from "../messages/index.js";
import { isOfTokens, toLines } from "./charge-lines.js";

/** How a charge came about, line by line. `amount` is the charge. */
export function Derivation({
  derivation,
  amount,
}: {
  readonly derivation: ChargeDerivation;
  readonly amount: string;
}) {
  const { derivation: text } = useMessages();
  return (
    <div class="derivation">
      <Lines derivation={derivation} amount={amount} />
      {derivation.decimal_places !== undefined && (
        <p class="small soft">{text.rounded(derivation.decimal_places, amount)}</p>
      )}
      {"unpriced" in derivation && derivation.unpriced && <p>{text.unpriced}</p>}
    </div>
  );
}

/** The derivation as lines of plain text, to be copied. */
export function writeDerivation(
  derivation: ChargeDerivation,
  amount: string,
  { derivation: text }: Messages,
): string {
  const ratio = derivation.group_ratio === "1" ? "" : ` × ${derivation.group_ratio} (${text.ratio})`;
  const lines = toLines(derivation, amount).map(({ what, quality, counted, amount: part }) => {
    const name = text.what[what] ?? what;
    if (counted === undefined) return `${name}: ${part}`;
    const unit = isOfTokens(what) ? ` ${text.perMillion}` : "";
    return `${name}${quality === undefined ? "" : ` · ${quality}`}: ${counted.count} × ${counted.price}${unit}${ratio} = ${part}`;
  });
  const sum = `${text.sum}: ${amount}`;
  const { decimal_places } = derivation;
  return [
    ...lines,
    sum,
    ...(decimal_places === undefined ? [] : [text.rounded(decimal_places, amount)]),
  ].join("\n");
}

/** Each line is count × price × ratio. A ratio of 1 changes nothing and has no column. */
function Lines({ derivation, amount }: { readonly derivation: ChargeDerivation; readonly amount: string }) {
  const { derivation: text, language } = useMessages();
  const { group_ratio } = derivation;
  const hasRatio = group_ratio !== "1";
  const lines = toLines(derivation, amount);
  const places = longestFraction([...lines.map((line) => line.amount), amount]);
  return (
    <div class="table-frame" tabIndex={0} role="group" aria-label={text.sum}>
      <table>
        <thead>
          <tr>
            <th>{text.line}</th>
            <th class="number">{text.count}</th>
            <th class="number">{text.unitPrice}</th>
            {hasRatio && <th class="number">{text.ratio}</th>}
            <th class="number">{text.amount}</th>
          </tr>
        </thead>
        <tbody>
          {lines.map(({ what, quality, counted, amount: part }, index) => (
            <tr key={index}>
              <td>
                {text.what[what] ?? what}
                {quality !== undefined && ` · ${quality}`}
              </td>
              <td class="number">{counted && formatCount(counted.count, language)}</td>
              <td class="number">
                {counted?.price}
                {isOfTokens(what) && ` ${text.perMillion}`}
              </td>
              {hasRatio && <td class="number">{counted && group_ratio}</td>}
              <td class="number">{formatPlaces(part, places)}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <td colSpan={hasRatio ? 4 : 3}>{text.sum}</td>
            <td class="number">{formatPlaces(amount, places)}</td>
          </tr>
        </tfoot>
      </table>
    </div>
  );
}
