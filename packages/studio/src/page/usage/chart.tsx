import { useState } from "preact/hooks";
import type { UsageReport } from "../../wire.js";
import { formatCount } from "../format.js";
import { useMessages } from "../messages/index.js";

const WIDTH = 720;
const HEIGHT = 160;

/** The spend of each hour or day as bars from zero, with the period before as a thin line. */
export function Chart({ report }: { readonly report: UsageReport }) {
  const messages = useMessages();
  const { usage: text, language } = messages;
  const [chosen, setChosen] = useState<number>();
  const { buckets, total } = report.series;
  const before = report.previous.total.points;
  const { length } = buckets;
  // Numbers of JavaScript are exact enough for the height of a bar. The text beside it has the decimals.
  const spends = total.points.map(({ charge }) => Number(charge));
  const spendsBefore = before.slice(0, length).map(({ charge }) => Number(charge));
  const highest = Math.max(...spends, ...spendsBefore);
  if (highest === 0 || length < 2) return null;
  const step = WIDTH / length;
  const yOf = (spend: number): number => HEIGHT - (spend / highest) * HEIGHT;
  const at = Math.min(chosen ?? length - 1, length - 1);
  const isByHour = length > 1 && spanOf(buckets[1]) <= 3_600_000;
  const format = new Intl.DateTimeFormat(
    language,
    isByHour ? { weekday: "short", hour: "numeric", minute: "2-digit" } : { month: "short", day: "numeric" },
  );
  const describe = (index: number): string => {
    const point = total.points[index];
    return text.chartPoint(
      format.format(new Date(buckets[index]?.from ?? 0)),
      point?.charge ?? "0",
      formatCount(point?.images ?? 0, language),
      before[index]?.charge ?? "–",
    );
  };
  const choose = (index: number): void => setChosen(Math.max(0, Math.min(length - 1, index)));
  return (
    <figure class="chart">
      <figcaption>
        <strong>{text.chart}</strong> <span class="small soft">{text.chartHint}</span>
        <p class="chart-value">{describe(at)}</p>
      </figcaption>
      <div
        class="chart-frame"
        role="slider"
        tabIndex={0}
        aria-label={text.chart}
        aria-valuemin={0}
        aria-valuemax={length - 1}
        aria-valuenow={at}
        aria-valuetext={describe(at)}
        onKeyDown={(event) => {
          const next = KEYS[event.key]?.(at, length);
          if (next === undefined) return;
          event.preventDefault();
          choose(next);
        }}
        onPointerMove={(event) => {
          const { left, width } = event.currentTarget.getBoundingClientRect();
          choose(Math.floor(((event.clientX - left) / width) * length));
        }}
        onPointerLeave={() => setChosen(undefined)}
      >
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          {spends.map((spend, index) => (
            <rect
              key={buckets[index]?.from}
              class={index === at ? "chosen" : undefined}
              x={index * step + step * 0.1}
              y={yOf(spend)}
              width={step * 0.8}
              height={HEIGHT - yOf(spend)}
            />
          ))}
          <polyline
            points={spendsBefore.map((spend, index) => `${(index + 0.5) * step},${yOf(spend)}`).join(" ")}
          />
        </svg>
      </div>
      <p class="chart-ends small soft">
        <span>{format.format(new Date(buckets[0]?.from ?? 0))}</span>
        <span>{format.format(new Date(buckets.at(-1)?.from ?? 0))}</span>
      </p>
    </figure>
  );
}

const KEYS: Readonly<Record<string, (at: number, length: number) => number>> = {
  ArrowLeft: (at) => at - 1,
  ArrowDown: (at) => at - 1,
  ArrowRight: (at) => at + 1,
  ArrowUp: (at) => at + 1,
  Home: () => 0,
  End: (_at, length) => length - 1,
};

function spanOf(bucket: { readonly from: string; readonly to: string } | undefined): number {
  return bucket === undefined ? 0 : Date.parse(bucket.to) - Date.parse(bucket.from);
}
