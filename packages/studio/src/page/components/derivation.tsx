import type { ChargeDerivation } from "../../wire.js";
import { type Messages, useMessages } from "../messages/index.js";

/** How a charge came about, line by line. */
export function Derivation({ derivation }: { readonly derivation: ChargeDerivation }) {
  const messages = useMessages();
  const text = messages.derivation;
  return (
    <div class="derivation">
      {"lines" in derivation ? (
        <Lines derivation={derivation} />
      ) : (
        <p class="mono">{toFormula(derivation)}</p>
      )}
      {derivation.decimal_places !== undefined && (
        <p class="small soft">{text.rounded(derivation.decimal_places)}</p>
      )}
      {"unpriced" in derivation && derivation.unpriced && <p>{text.unpriced}</p>}
    </div>
  );
}

/** The derivation as lines of plain text, to be copied. */
export function writeDerivation(derivation: ChargeDerivation, { derivation: text }: Messages): string {
  const lines =
    "lines" in derivation
      ? [
          ...derivation.lines.map((line) => {
            const name = text.what[line.what] ?? line.what;
            if (line.what === "rounding") return `${name}: ${line.amount}`;
            const quality = line.quality === undefined ? "" : ` · ${line.quality}`;
            const unit = line.what.endsWith("tokens") ? ` ${text.perMillion}` : "";
            return `${name}${quality}: ${line.count} × ${line.unit_price}${unit} = ${line.amount}`;
          }),
          `${text.sum} · ${text.ratio} ${derivation.group_ratio}: ${derivation.exact}`,
        ]
      : [toFormula(derivation)];
  if (derivation.decimal_places !== undefined) lines.push(text.rounded(derivation.decimal_places));
  return lines.join("\n");
}

type Itemized = Extract<ChargeDerivation, { lines: unknown }>;

/** `count × price × ratio = exact`, with the words of the interface left out: the numbers are those of the record. */
function toFormula(derivation: Exclude<ChargeDerivation, Itemized>): string {
  const { group_ratio, exact } = derivation;
  if (derivation.pricing_mode === "per-request") {
    return `${derivation.count} × ${derivation.model_price} × ${group_ratio} = ${exact}`;
  }
  const { output_tokens, output_token_price, other_tokens, input_token_price } = derivation;
  return `(${output_tokens} × ${output_token_price} + ${other_tokens} × ${input_token_price}) ÷ 1000000 × ${group_ratio} = ${exact}`;
}

function Lines({ derivation: { lines, group_ratio, exact } }: { readonly derivation: Itemized }) {
  const { derivation: text } = useMessages();
  return (
    <div class="table-frame" tabIndex={0} role="group" aria-label={text.sum}>
      <table>
        <thead>
          <tr>
            <th>{text.line}</th>
            <th class="number">{text.count}</th>
            <th class="number">{text.unitPrice}</th>
            <th class="number">{text.amount}</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line, index) => (
            <tr key={index}>
              <td>
                {text.what[line.what] ?? line.what}
                {line.what !== "rounding" && line.quality !== undefined && ` · ${line.quality}`}
              </td>
              <td class="number">{line.what === "rounding" ? "" : line.count}</td>
              <td class="number">
                {line.what === "rounding" ? "" : line.unit_price}
                {line.what.endsWith("tokens") && ` ${text.perMillion}`}
              </td>
              <td class="number">{line.amount}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <td colSpan={3}>
              {text.sum} · {text.ratio} {group_ratio}
            </td>
            <td class="number">{exact}</td>
          </tr>
        </tfoot>
      </table>
    </div>
  );
}
