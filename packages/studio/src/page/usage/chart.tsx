import { scaleBand, scaleLinear } from "d3-scale";
import { line as drawLine } from "d3-shape";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { UsageLine, UsageReport, UsageSums } from "../../wire.js";
import { useUnits } from "../currency.js";
import { useMessages } from "../messages/index.js";
import { BucketText, chooseTicks } from "./bucket-text.js";
import { nameOf } from "./lines-table.js";
import { MEASURE_RULES, MEASURES } from "./measures.js";
import type { Span } from "./period.js";
import { goTo, type Selection } from "./selection.js";
import { hasSeries, MAX_SERIES, Swatch } from "./series.js";

/** One measure over time: bars from zero, or lines, with the period before as a thin line. Selecting a bar filters the view. */
export function Chart({
  report,
  selection,
}: {
  readonly report: UsageReport;
  readonly selection: Selection;
}) {
  const messages = useMessages();
  const { usage: text } = messages;
  const { measure, span } = selection;
  const { buckets, total } = report.series;
  const { isFlat } = readValues(report, selection);
  const { isMixed } = useUnits();
  const isUnsummed = isMixed && measure === "spend" && selection.filters.model === undefined;
  return (
    <figure class="chart">
      <figcaption>
        <div class="segments" role="group" aria-label={text.chart}>
          {MEASURES.map((each) => (
            <button
              key={each}
              type="button"
              aria-pressed={measure === each ? "true" : "false"}
              onClick={() => goTo({ ...selection, measure: each })}
            >
              {text.measures[each]}
            </button>
          ))}
        </div>
      </figcaption>
      {isUnsummed ? (
        <p class="soft">{text.severalCurrencies}</p>
      ) : isFlat || buckets.length < 2 ? (
        // No chart where a number is enough.
        <p class="chart-value">
          {text.measures[measure]}: {MEASURE_RULES[measure].write(total.sums, messages)}
        </p>
      ) : (
        <Plot
          // Another period begins without a chosen bucket.
          key={`${buckets[0]?.from} ${buckets.length}`}
          report={report}
          selection={selection}
          onSelect={(bucket) =>
            goTo({ ...selection, span: bucket?.from === span?.from ? undefined : bucket, request: undefined })
          }
        />
      )}
    </figure>
  );
}

const HEIGHT = 224;
const TOP = 16;
const BOTTOM = 24;
/** The width of a digit of the axis, and of a Chinese character, in pixels. */
const DIGIT = 7;
const HAN = 12;
const widthOf = (label: string): number =>
  DIGIT * label.length + (HAN - DIGIT) * (label.match(/\p{Script=Han}/gu) ?? []).length;
const LABEL_GAP = 14;

interface PlotProps {
  readonly report: UsageReport;
  readonly selection: Selection;
  /** `undefined`: the whole period. */
  readonly onSelect: (span: Span | undefined) => void;
}

function Plot({ report, selection, onSelect }: PlotProps) {
  const messages = useMessages();
  const { usage: text } = messages;
  const { measure, span } = selection;
  const { buckets, total } = report.series;
  const previous = report.previous?.total.points ?? [];
  const rules = MEASURE_RULES[measure];
  const [frame, width] = useWidth();
  const [chosen, setChosen] = useState<number>();
  const { parts, before, highest } = readValues(report, selection);
  const isSelected = buckets.map(({ from, to }) => span !== undefined && from < span.to && to > span.from);
  const shown = chosen ?? (isSelected.includes(true) ? isSelected.lastIndexOf(true) : buckets.length - 1);
  const at = Math.min(shown, buckets.length - 1);

  const yScale = scaleLinear([0, highest], [HEIGHT - BOTTOM, TOP]).nice(4);
  const ticks = yScale.ticks(4).filter((tick) => measure === "spend" || measure === "time" || tick % 1 === 0);
  const tickTexts = ticks.map((tick) => rules.writeTick(tick, messages));
  const left = Math.max(...tickTexts.map(widthOf)) + 8;
  const xScale = scaleBand<number>(
    buckets.map((_, index) => index),
    [left, Math.max(left + 1, width)],
  )
    .paddingInner(0.2)
    .paddingOuter(0.1);
  const xOf = (index: number): number => (xScale(index) ?? 0) + xScale.bandwidth() / 2;
  const path = (values: readonly (number | undefined)[]): string | undefined =>
    drawLine<number | undefined>()
      .defined((value) => value !== undefined)
      .x((_value, index) => xOf(index))
      .y((value) => yScale(value ?? 0))(values) ?? undefined;

  const times = new BucketText(buckets, messages.language);
  const describe = (index: number): string => {
    const sums = total.points[index];
    const sumsBefore = previous[index];
    return text.chartPoint(
      times.long(index),
      sums === undefined ? "–" : rules.write(sums, messages),
      sumsBefore === undefined ? "–" : rules.write(sumsBefore, messages),
    );
  };
  const choose = (index: number): void => setChosen(Math.max(0, Math.min(buckets.length - 1, index)));
  const indexAt = (clientX: number, element: Element): number => {
    const x = clientX - element.getBoundingClientRect().left - left;
    return Math.max(0, Math.min(buckets.length - 1, Math.floor(x / xScale.step())));
  };
  const hasParts = parts[0]?.name.startsWith("series") === true;
  const hint = useId();
  const hasBefore = before.some((value) => value !== undefined && value > 0);
  const labels = placeLabels([
    ...(rules.kind === "lines"
      ? parts.map(({ name, values }) => ({
          name,
          y: yScale(lastOf(values) ?? 0),
          text: text.parts[name] ?? "",
        }))
      : []),
    ...(hasBefore ? [{ name: "before", y: yScale(lastOf(before) ?? 0), text: text.previousLine }] : []),
  ]);

  return (
    <>
      <p class="chart-value">{describe(at)}</p>
      {hasParts && <Legend report={report} selection={selection} at={at} />}
      <div
        ref={frame}
        class="chart-frame"
        role="slider"
        tabIndex={0}
        aria-label={text.measures[measure]}
        aria-valuemin={0}
        aria-valuemax={buckets.length - 1}
        aria-valuenow={at}
        aria-valuetext={describe(at)}
        aria-describedby={hint}
        title={text.chartHint}
        onKeyDown={(event) => {
          const next = KEYS[event.key]?.(at, buckets.length);
          if (next !== undefined) choose(next);
          else if (event.key === "Enter" || event.key === " ") onSelect(buckets[at]);
          else return;
          event.preventDefault();
        }}
        onPointerMove={(event) => choose(indexAt(event.clientX, event.currentTarget))}
        onPointerLeave={() => setChosen(undefined)}
        onClick={(event) => onSelect(buckets[indexAt(event.clientX, event.currentTarget)])}
      >
        <span id={hint} class="hidden-text">
          {text.chartHint}
        </span>
        <svg viewBox={`0 0 ${width} ${HEIGHT}`} width={width} height={HEIGHT} aria-hidden="true">
          {buckets.map(({ from }, index) => (
            <rect
              key={from}
              class={`band${index === at ? " at" : ""}${isSelected[index] ? " selected" : ""}`}
              x={(xScale(index) ?? 0) - (xScale.step() - xScale.bandwidth()) / 2}
              y={TOP}
              width={xScale.step()}
              height={HEIGHT - TOP - BOTTOM}
            />
          ))}
          {ticks.map((tick, index) => (
            <g key={tick} class="grid">
              <line x1={left} x2={width} y1={yScale(tick)} y2={yScale(tick)} />
              <text x={left - 8} y={yScale(tick)} text-anchor="end" dominant-baseline="middle">
                {tickTexts[index]}
              </text>
            </g>
          ))}
          {rules.kind === "bars"
            ? stack(parts).map(({ name, bars }) =>
                bars.map(([low, high], index) => (
                  <rect
                    key={`${name} ${buckets[index]?.from}`}
                    class={`bar-part ${name}${isSelected.includes(true) && !isSelected[index] ? " faded" : ""}`}
                    x={xScale(index)}
                    y={yScale(high)}
                    width={xScale.bandwidth()}
                    height={yScale(low) - yScale(high)}
                  />
                )),
              )
            : parts.map(({ name, values }) => (
                <g key={name} class={`line-part ${name}`}>
                  <path d={path(values)} />
                  {values.map((value, index) =>
                    // A point without a neighbor would not be seen, and the chosen one has a mark.
                    value !== undefined && (index === at || isAlone(values, index)) ? (
                      <circle key={buckets[index]?.from} cx={xOf(index)} cy={yScale(value)} r="3" />
                    ) : null,
                  )}
                </g>
              ))}
          {hasBefore && <path class="before" d={path(before)} />}
          {labels.map(({ name, y, text: label }) => (
            <text key={name} class={`line-label ${name}`} x={width - 2} y={y} text-anchor="end">
              {label}
            </text>
          ))}
          {chooseTicks(times, Math.floor((width - left) / 72)).map((index) => (
            <text
              key={index}
              class="time"
              x={Math.min(xOf(index), width - widthOf(times.short(index)) / 2 - 4)}
              y={HEIGHT - 6}
              text-anchor="middle"
            >
              {times.short(index)}
            </text>
          ))}
        </svg>
      </div>
    </>
  );
}

const KEYS: Readonly<Record<string, (at: number, length: number) => number>> = {
  ArrowLeft: (at) => at - 1,
  ArrowDown: (at) => at - 1,
  ArrowRight: (at) => at + 1,
  ArrowUp: (at) => at + 1,
  PageDown: (at) => at - 7,
  PageUp: (at) => at + 7,
  Home: () => 0,
  End: (_at, length) => length - 1,
};

/** The values of the parts in each bucket, and those of the period before. */
interface Values {
  readonly parts: readonly {
    readonly name: string;
    readonly values: readonly (number | undefined)[];
  }[];
  readonly before: readonly (number | undefined)[];
  readonly highest: number;
  /** True if there is nothing to draw. */
  readonly isFlat: boolean;
}

function readValues(report: UsageReport, selection: Selection): Values {
  const rules = MEASURE_RULES[selection.measure];
  const { points } = report.series.total;
  const lines = listParts(report, selection);
  const parts =
    lines.length === 0
      ? rules.parts.map(({ name, valueOf }) => ({ name, values: points.map(valueOf) }))
      : lines.map((line, index) => ({
          name: `series-${Math.min(index, MAX_SERIES)}`,
          values: line.points.map((sums) => rules.before(sums)),
        }));
  // The period before may have another number of days, for example that of a month.
  const before = (report.previous?.total.points ?? []).slice(0, points.length).map(rules.before);
  const sumUp = (sums: UsageSums): number =>
    rules.parts.reduce((sum, { valueOf }) => sum + (valueOf(sums) ?? 0), 0);
  const tops = rules.kind === "bars" ? points.map(sumUp) : parts.flatMap(({ values }) => values);
  const highest = Math.max(0, ...[...tops, ...before].map((value) => value ?? 0));
  return { parts, before, highest, isFlat: highest === 0 };
}

/** The lines of the table that have a part of their own in each bar, and the sum of the others. Empty: the bars have none. */
function listParts({ series: { lines, others } }: UsageReport, selection: Selection): readonly UsageLine[] {
  return hasSeries(selection) ? [...lines, ...(others === undefined ? [] : [others])] : [];
}

/** The parts of the bar that is chosen, each with its value. The colors are also in the table below. */
function Legend({
  report,
  selection,
  at,
}: Pick<PlotProps, "report" | "selection"> & { readonly at: number }) {
  const messages = useMessages();
  const { by, measure } = selection;
  const { others } = report.series;
  const { before: valueOf, write, writeTick } = MEASURE_RULES[measure];
  // As in the table below. The text for requests has more than a number.
  const writePart = (sums: UsageSums): string =>
    measure === "spend" ? write(sums, messages) : writeTick(valueOf(sums) ?? 0, messages);
  return (
    <ul class="legend">
      {listParts(report, selection).map((line, index) => {
        const sums = line.points[at];
        return (
          <li key={line === others ? "" : `=${line.key}`}>
            <Swatch series={index} />
            <bdi class="chip-value">
              {line === others ? messages.usage.others(others.count) : nameOf(by, line.key, messages)}
            </bdi>
            <span class="number soft">{sums === undefined ? "–" : writePart(sums)}</span>
          </li>
        );
      })}
    </ul>
  );
}

/** The low and the high end of each part in each bucket, one on top of the other. */
function stack(parts: Values["parts"]) {
  const heights = new Map<number, number>();
  return parts.map(({ name, values }) => ({
    name,
    bars: values.map((value, index): readonly [number, number] => {
      const low = heights.get(index) ?? 0;
      const high = low + (value ?? 0);
      heights.set(index, high);
      return [low, high];
    }),
  }));
}

/** Moves labels apart that would cover each other. */
function placeLabels<T extends { readonly y: number }>(labels: readonly T[]): readonly T[] {
  let lowest = HEIGHT - BOTTOM + 8;
  return labels
    .toSorted((one, other) => other.y - one.y)
    .map((label) => {
      const y = Math.min(label.y - 6, lowest - LABEL_GAP);
      lowest = y;
      return { ...label, y };
    });
}

function lastOf(values: readonly (number | undefined)[]): number | undefined {
  return values.findLast((value) => value !== undefined);
}

function isAlone(values: readonly (number | undefined)[], index: number): boolean {
  return values[index - 1] === undefined && values[index + 1] === undefined;
}

/** The width of an element in pixels, also when it changes. Text in a chart that is stretched would be distorted. */
function useWidth() {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  useLayoutEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const measure = (): void => setWidth(element.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [frame, width] as const;
}
