import type { ChargeDerivation } from "../../wire.js";
import { formatAmount, formatCount, longestFraction } from "../format.js";
import { type Messages, useMessages } from "../messages/index.js";
import { Aligned } from "./amount-cell.js";
import { isOfTokens, type ShownLine, toLines } from "./charge-lines.js";

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
      {"unpriced" in derivation && derivation.unpriced && <p>{text.unpriced}</p>}
    </div>
  );
}

/** The derivation as lines of plain text, to be copied. */
export function writeDerivation(derivation: ChargeDerivation, amount: string, messages: Messages): string {
  const { derivation: text } = messages;
  const ratio = derivation.group_ratio === "1" ? "" : ` × ${derivation.group_ratio} (${text.ratio})`;
  const lines = toLines(derivation, amount).map((line) => {
    const name = nameLine(line, derivation, messages);
    const { what, counted, amount: part } = line;
    if (counted === undefined) return `${name}: ${part}`;
    const unit = isOfTokens(what) ? ` ${text.perMillion}` : "";
    return `${name}: ${counted.count} × ${counted.price}${unit}${ratio} = ${part}`;
  });
  return [...lines, `${text.sum}: ${amount}`].join("\n");
}

/** What a line is of, with what its price depends on: `Images · high · 4,194,304 pixels`. */
function nameLine(
  { what, quality, size }: ShownLine,
  { decimal_places = 0 }: ChargeDerivation,
  { derivation: text, language }: Messages,
): string {
  if (what === "rounding") return text.rounding(decimal_places);
  const written = size && text.pixels(formatCount(size.pixels, language), size.isMost);
  return [text.what[what] ?? what, quality, written].filter((part) => part !== undefined).join(" · ");
}

/** Of an estimate whose price may depend on the size: what it was computed for. */
export function listConditions(
  derivation: ChargeDerivation,
  amount: string,
  messages: Messages,
): readonly string[] {
  return toLines(derivation, amount)
    .filter(({ size }) => size !== undefined)
    .map((line) => nameLine(line, derivation, messages));
}

/** Each line is count × price × ratio. A ratio of 1 changes nothing and has no column. */
function Lines({ derivation, amount }: { readonly derivation: ChargeDerivation; readonly amount: string }) {
  const messages = useMessages();
  const { derivation: text, language } = messages;
  const { group_ratio } = derivation;
  const hasRatio = group_ratio !== "1";
  const lines = toLines(derivation, amount);
  const places = longestFraction([...lines.map((line) => line.amount), amount]);
  const write = (exact: string) => <Aligned amount={formatAmount(exact)} places={places} />;
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
          {lines.map((line, index) => (
            <tr key={index}>
              <td>{nameLine(line, derivation, messages)}</td>
              <td class="number">{line.counted && formatCount(line.counted.count, language)}</td>
              <td class="number">
                {line.counted?.price}
                {isOfTokens(line.what) && <span class="small soft per"> {text.perMillion}</span>}
              </td>
              {hasRatio && <td class="number">{line.counted && group_ratio}</td>}
              <td class="number">{write(line.amount)}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <td colSpan={hasRatio ? 4 : 3}>{text.sum}</td>
            <td class="number">{write(amount)}</td>
          </tr>
        </tfoot>
      </table>
    </div>
  );
}
