import { useRef, useState } from "preact/hooks";
import type { UsageLine, UsageReport, UsageSums } from "../../wire.js";
import { Failure, Loading, StaleNote } from "../components/feedback.js";
import { TextField } from "../components/field.js";
import { formatAmount, formatCount, formatNumber, formatSeconds, padAmounts } from "../format.js";
import { type Messages, useMessages } from "../messages/index.js";
import { followLink } from "../router.js";
import type { Loaded } from "../use-data.js";
import { rateOf } from "./figures.js";
import {
  addressOfSelection,
  DIMENSIONS,
  type Dimension,
  goTo,
  type Selection,
  withFilter,
} from "./selection.js";

/** The usage of each caller, model, channel, end user or value of a tag. Selecting a line filters the view. */
export function LinesTable({
  selection,
  lines: { data, error, reload },
}: {
  readonly selection: Selection;
  readonly lines: Loaded<UsageReport>;
}) {
  const { usage: text } = useMessages();
  const { by, tagKey } = selection;
  // The lines stay until those of another period or filter have come, so that the page does not jump.
  const latest = useRef<{ readonly name: string; readonly data: UsageReport }>(undefined);
  const name = `${by} ${tagKey}`;
  if (data !== undefined) latest.current = { name, data };
  const shown = error === undefined && latest.current?.name === name ? latest.current.data : data;
  return (
    <section class="section">
      <div class="segments" role="group" aria-label={text.by}>
        {DIMENSIONS.map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={by === each ? "true" : "false"}
            onClick={() => goTo({ ...selection, by: each })}
          >
            {text.dimensions[each]}
          </button>
        ))}
      </div>
      {by === "tag" && (
        <TagForm key={tagKey} tagKey={tagKey} onShow={(key) => goTo({ ...selection, tagKey: key })} />
      )}
      {(by !== "tag" || tagKey !== "") && (
        <>
          {shown === undefined && error === undefined && <Loading />}
          {data === undefined && error !== undefined && <Failure error={error} onRetry={reload} />}
          {data !== undefined && <StaleNote error={error} />}
          {shown !== undefined && shown.series.lines.length > 0 && (
            <div aria-busy={shown !== data}>
              <Table selection={selection} report={shown} />
            </div>
          )}
        </>
      )}
    </section>
  );
}

function TagForm({ tagKey, onShow }: { readonly tagKey: string; readonly onShow: (tagKey: string) => void }) {
  const { usage: text } = useMessages();
  const [entered, setEntered] = useState(tagKey);
  return (
    <form
      class="row narrow"
      onSubmit={(event) => {
        event.preventDefault();
        onShow(entered.trim());
      }}
    >
      <TextField label={text.tagKey} hint={text.tagKeyHint} value={entered} onValue={setEntered} />
      <div>
        <button type="submit" class="button">
          {text.show}
        </button>
      </div>
    </form>
  );
}

function Table({ selection, report }: { readonly selection: Selection; readonly report: UsageReport }) {
  const { usage: text } = useMessages();
  const { by } = selection;
  const { lines, others } = report.series;
  const all = [...lines, ...(others === undefined ? [] : [others])];
  const pads = padAmounts(all.map(({ sums }) => sums.charge));
  const hasCosts = all.some(({ sums }) => sums.costs !== undefined);
  const costPads = padAmounts(all.map(({ sums }) => sums.costs?.cost ?? ""));
  const marginPads = padAmounts(all.map(({ sums }) => sums.costs?.margin ?? ""));
  /** What is written after the amounts of a line. */
  const padsOf = (index: number): LinePads => ({
    charge: pads[index],
    costs: hasCosts ? { cost: costPads[index], margin: marginPads[index] } : undefined,
  });
  return (
    <div class="table-frame" tabIndex={0} role="group" aria-label={text.dimensions[by]}>
      <table>
        <thead>
          <tr>
            <th>{text.dimensions[by]}</th>
            <th class="number">{text.spend}</th>
            {hasCosts && <th class="number">{text.cost}</th>}
            {hasCosts && <th class="number">{text.margin}</th>}
            <th class="number">{text.images}</th>
            <th class="number">{text.requests}</th>
            <th class="number">{text.inUnit(text.failureRate, "%")}</th>
            <th class="number">{text.inUnit(text.medianTime, text.secondsUnit)}</th>
            <th class="number">{text.inUnit(text.p95Time, text.secondsUnit)}</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line, index) => (
            <Line key={line.key} line={line} pads={padsOf(index)} selection={selection} />
          ))}
          {others !== undefined && (
            <tr>
              <td class="soft">{text.others(others.count)}</td>
              <SumCells sums={others.sums} pads={padsOf(lines.length)} />
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

/** See `padAmounts`. `costs` is absent if the table has no costs. */
interface LinePads {
  readonly charge: string | undefined;
  readonly costs: { readonly cost: string | undefined; readonly margin: string | undefined } | undefined;
}

function Line({
  line: { key, sums },
  pads,
  selection,
}: {
  readonly line: UsageLine;
  readonly pads: LinePads;
  readonly selection: Selection;
}) {
  const messages = useMessages();
  const { by, tagKey, filters } = selection;
  const value = by === "tag" ? `${tagKey}=${key}` : key;
  const isChosen = filters[by] === value;
  return (
    <tr class={isChosen ? "chosen" : undefined}>
      <td class="wrap">
        <a
          class={key === "" ? "unnamed" : undefined}
          href={addressOfSelection(withFilter(selection, by, isChosen ? undefined : value))}
          onClick={followLink}
          aria-current={isChosen ? "true" : undefined}
        >
          <bdi>{nameOf(by, value, messages)}</bdi>
        </a>
      </td>
      <SumCells sums={sums} pads={pads} />
    </tr>
  );
}

function SumCells({ sums, pads }: { readonly sums: UsageSums; readonly pads: LinePads }) {
  const messages = useMessages();
  return (
    <>
      <td class="number" data-pad={pads.charge}>
        {formatAmount(sums.charge)}
      </td>
      {pads.costs !== undefined && <AmountCell amount={sums.costs?.cost} pad={pads.costs.cost} />}
      {pads.costs !== undefined && <AmountCell amount={sums.costs?.margin} pad={pads.costs.margin} />}
      <td class="number">{formatCount(sums.images, messages.language)}</td>
      <td class="number">{formatCount(sums.requests, messages.language)}</td>
      <td class="number">
        {sums.requests === 0 ? "–" : formatNumber(rateOf(sums) * 100, messages.language)}
      </td>
      <td class="number">{showSeconds(sums.medianMs, messages)}</td>
      <td class="number">{showSeconds(sums.p95Ms, messages)}</td>
    </>
  );
}

/** `undefined`: the amount is not known. */
function AmountCell({
  amount,
  pad,
}: {
  readonly amount: string | undefined;
  readonly pad: string | undefined;
}) {
  return (
    <td class="number" data-pad={amount === undefined ? undefined : pad}>
      {amount === undefined ? "–" : formatAmount(amount)}
    </td>
  );
}

function showSeconds(milliseconds: number | undefined, { language }: Messages): string {
  return milliseconds === undefined ? "–" : formatSeconds(milliseconds, language);
}

/** The value of a filter in words. Requests without a channel, an end user or a tag have an empty one. */
export function nameOf(by: Dimension, value: string, { usage: text }: Messages): string {
  if (by !== "tag") return value === "" ? text.unnamed[by] : value;
  const key = value.slice(0, value.indexOf("="));
  return value === `${key}=` ? text.withoutTag(key) : value.slice(key.length + 1);
}
