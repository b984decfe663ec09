import { useRef, useState } from "preact/hooks";
import type { UsageLine, UsageReport, UsageSums } from "../../wire.js";
import { AmountCell } from "../components/amount-cell.js";
import { Failure, Loading, StaleNote } from "../components/feedback.js";
import { TextField } from "../components/field.js";
import { ListTable } from "../components/list-table.js";
import { useUnits } from "../currency.js";
import { formatCount, formatNumber, formatSeconds, placesOf } from "../format.js";
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
import { hasSeries, MAX_SERIES, Swatch } from "./series.js";

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
      <div class="beside-field">
        <button type="submit" class="button">
          {text.show}
        </button>
      </div>
    </form>
  );
}

function Table({ selection, report }: { readonly selection: Selection; readonly report: UsageReport }) {
  const { usage: text } = useMessages();
  const { named } = useUnits();
  const { by } = selection;
  const { lines, others } = report.series;
  const all = [...lines, ...(others === undefined ? [] : [others])].map(({ sums }) => sums);
  const places: Places = {
    charge: placesOf(all.map(({ charge }) => charge)),
    cost: all.some(({ costs }) => costs !== undefined)
      ? placesOf(all.flatMap(({ costs }) => [costs?.cost, costs?.margin]))
      : undefined,
  };
  return (
    <ListTable
      label={text.dimensions[by]}
      columns={[
        text.dimensions[by],
        [named(text.spend), "number"],
        places.cost !== undefined && [named(text.cost), "number"],
        places.cost !== undefined && [named(text.margin), "number"],
        [text.images, "number"],
        [text.requests, "number"],
        [text.inUnit(text.failureRate, "%"), "number aside"],
        [text.inUnit(text.medianTime, text.secondsUnit), "number aside"],
        [text.inUnit(text.p95Time, text.secondsUnit), "number aside"],
      ]}
    >
      <tbody>
        {lines.map((line, index) => (
          <Line key={line.key} line={line} series={index} places={places} selection={selection} />
        ))}
        {others !== undefined && (
          <tr>
            <td class="soft">
              <Swatch series={MAX_SERIES} /> {text.others(others.count)}
            </td>
            <SumCells sums={others.sums} places={places} unit={undefined} isSum={by !== "model"} />
          </tr>
        )}
      </tbody>
    </ListTable>
  );
}

/** The decimals of the amounts. `cost` is `undefined` if the table has no costs. */
interface Places {
  readonly charge: number;
  readonly cost: number | undefined;
}

function Line({
  line: { key, sums },
  series,
  places,
  selection,
}: {
  readonly line: UsageLine;
  /** Its place in the table, which is that of its part in the chart. */
  readonly series: number;
  readonly places: Places;
  readonly selection: Selection;
}) {
  const messages = useMessages();
  const { unitOf } = useUnits();
  const { by, tagKey, filters } = selection;
  const value = by === "tag" ? `${tagKey}=${key}` : key;
  const isChosen = filters[by] === value;
  const model = by === "model" ? key : filters.model;
  return (
    <tr class={isChosen ? "chosen" : undefined}>
      <td class="wrap">
        {hasSeries(selection) && <Swatch series={series} />}
        <a
          class={key === "" ? "unnamed" : undefined}
          href={addressOfSelection(withFilter(selection, by, isChosen ? undefined : value))}
          onClick={followLink}
          aria-current={isChosen ? "true" : undefined}
        >
          <bdi>{nameOf(by, value, messages)}</bdi>
        </a>
      </td>
      <SumCells
        sums={sums}
        places={places}
        unit={model === undefined ? undefined : unitOf(model)}
        isSum={model === undefined}
      />
    </tr>
  );
}

function SumCells({
  sums,
  places,
  unit,
  isSum,
}: {
  readonly sums: UsageSums;
  readonly places: Places;
  readonly unit: string | undefined;
  /** Whether the amounts are those of several models. */
  readonly isSum: boolean;
}) {
  const messages = useMessages();
  const { usage: text } = messages;
  const { isMixed } = useUnits();
  const isUnknown = isSum && isMixed;
  const failing = text.inUnit(text.failureRate, "%");
  return (
    <>
      <AmountCell
        amount={isUnknown ? undefined : sums.charge}
        places={places.charge}
        label={text.spend}
        unit={unit}
      />
      {places.cost !== undefined && (
        <>
          <AmountCell
            amount={isUnknown ? undefined : sums.costs?.cost}
            places={places.cost}
            label={text.cost}
          />
          <AmountCell
            amount={isUnknown ? undefined : sums.costs?.margin}
            places={places.cost}
            label={text.margin}
          />
        </>
      )}
      <td class="number" data-label={text.images}>
        {formatCount(sums.images, messages.language)}
      </td>
      <td class="number" data-label={text.requests}>
        {formatCount(sums.requests, messages.language)}
      </td>
      <td class="number aside" data-label={failing}>
        {sums.requests === 0 ? "–" : formatNumber(rateOf(sums) * 100, messages.language)}
      </td>
      <td class="number aside" data-label={text.inUnit(text.medianTime, text.secondsUnit)}>
        {showSeconds(sums.medianMs, messages)}
      </td>
      <td class="number aside" data-label={text.inUnit(text.p95Time, text.secondsUnit)}>
        {showSeconds(sums.p95Ms, messages)}
      </td>
    </>
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
