import type { RepricedLine, RepriceResult } from "../../wire.js";
import { Aligned, AmountCell } from "../components/amount-cell.js";
import { ListTable } from "../components/list-table.js";
import { formatCount, formatShort, formatTime, placesOf } from "../format.js";
import { useMessages } from "../messages/index.js";

/** What a period was charged and would have been charged, for each model and caller, and what could not be computed. */
export function RepriceResultView({ result }: { readonly result: RepriceResult }) {
  const { prices: text, language } = useMessages();
  const { requests, charge, newCharge, change, costs, estimated, kept, keptBecause, cutAt } = result;
  if (requests === 0) return <p>{text.noRequests}</p>;
  const count = (value: number): string => formatCount(value, language);
  return (
    <div class="stack result" ref={showWhole}>
      <dl class="figures">
        <div>
          <dt>{text.charged}</dt>
          <dd class="figure" title={charge}>
            {formatShort(charge)}
          </dd>
        </div>
        <div>
          <dt>{text.wouldBe}</dt>
          <dd class="figure" title={newCharge}>
            {formatShort(newCharge)}
          </dd>
        </div>
        <div>
          <dt>{text.change}</dt>
          <dd class="figure" title={change}>
            {signed(change, formatShort(change))}
          </dd>
          <dd class="small soft">{toPercent(result, language)}</dd>
        </div>
        {costs !== undefined && (
          <div>
            <dt>{text.newMargin}</dt>
            <dd class="figure" title={costs.newMargin}>
              {formatShort(costs.newMargin)}
            </dd>
            <dd class="small soft">{text.marginOf(formatShort(costs.margin), count(costs.requests))}</dd>
          </div>
        )}
      </dl>
      <p>{text.unchanged}</p>
      <ul class="bullets">
        <li>{text.counted(count(requests))}</li>
        {cutAt !== undefined && <li>{text.cutAt(formatTime(cutAt, language))}</li>}
        {estimated > 0 && <li>{text.estimated(count(estimated))}</li>}
        {kept > 0 && (
          <li>
            {text.kept(count(kept))}{" "}
            {(["outcome", "model", "group"] as const)
              .filter((reason) => keptBecause[reason] > 0)
              .map((reason) => text.keptBecause[reason](count(keptBecause[reason])))
              .join("; ")}
          </li>
        )}
      </ul>
      <Lines
        title={text.byModel}
        name={text.model}
        lines={result.models.map((line) => ({ ...line, name: line.model }))}
        count={result.modelCount}
      />
      <Lines
        title={text.byCaller}
        name={text.caller}
        lines={result.callers.map((line) => ({ ...line, name: line.caller }))}
        count={result.callerCount}
      />
    </div>
  );
}

/** The result may be below the edge of the window. */
function showWhole(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "nearest" });
}

function Lines({
  title,
  name,
  lines,
  count,
}: {
  readonly title: string;
  readonly name: string;
  readonly lines: readonly (RepricedLine & { readonly name: string })[];
  readonly count: number;
}) {
  const { prices: text, language } = useMessages();
  const places = placesOf(lines.flatMap(({ charge, newCharge, change }) => [charge, newCharge, change]));
  return (
    <section>
      <h3>{title}</h3>
      <ListTable
        label={title}
        columns={[
          name,
          [text.requests, "number"],
          [text.charged, "number"],
          [text.wouldBe, "number"],
          [text.change, "number"],
          [text.notRepriced, "number"],
        ]}
      >
        <tbody>
          {lines.map((line) => (
            <tr key={line.name}>
              <td class="name" title={line.name}>
                {line.name}
              </td>
              <td class="number" data-label={text.requests}>
                {formatCount(line.requests, language)}
              </td>
              <AmountCell amount={line.charge} places={places} label={text.charged} />
              <AmountCell amount={line.newCharge} places={places} label={text.wouldBe} />
              <td class="number" data-label={text.change} title={line.change}>
                <Aligned amount={signed(line.change, formatShort(line.change))} places={places} />
              </td>
              <td class="number" data-label={text.notRepriced}>
                {formatCount(line.kept, language)}
              </td>
            </tr>
          ))}
        </tbody>
      </ListTable>
      {count > lines.length && (
        <p class="small soft">{text.moreLines(formatCount(count - lines.length, language))}</p>
      )}
    </section>
  );
}

/** With its sign, also if it is positive. */
function signed(change: string, amount: string): string {
  if (change === "0") return amount;
  return change.startsWith("-") ? amount.replace("-", "−") : `+${amount}`;
}

/** Only for orientation: amounts are exact, and this is not. */
function toPercent({ charge, change }: RepricedLine, language: string): string {
  if (Number(charge) === 0) return "";
  return new Intl.NumberFormat(language, {
    style: "percent",
    maximumFractionDigits: 1,
    signDisplay: "exceptZero",
  }).format(Number(change) / Number(charge));
}
