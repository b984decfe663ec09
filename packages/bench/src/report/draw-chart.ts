import type { WorkSamples } from "../measure-work.ts";
import { medianFor, type Results, ratioFor } from "../results.ts";
import { REFERENCE } from "../target.ts";
import { WORKS } from "../works.ts";
import { formatMs } from "./format.ts";
import { titleOfTarget } from "./tables.ts";

const WIDTH = 860;
const MARGIN = 24;
const LABEL_WIDTH = 190;
const VALUE_WIDTH = 130;
const BAR_HEIGHT = 16;
const ROW_HEIGHT = 22;
const TITLE_HEIGHT = 34;
const HEADER_HEIGHT = 80;
const BAR_WIDTH = WIDTH - 2 * MARGIN - LABEL_WIDTH - VALUE_WIDTH;

/** Not in the chart, because they respond at once and call no upstream. */
const BARE = new Set(["bare-node", "bare-express"]);
const COLORS: Readonly<Record<string, string>> = {
  "calotype-node": "#b4532a",
  "calotype-express": "#d99a7c",
  [REFERENCE]: "#4a6274",
};
const OTHER_COLOR = "#b9c2c9";

/** Draws CPU time per request as bars, in one group per work. Each group has its own scale. */
export function drawChart(results: Results): string {
  const groups: string[] = [];
  let y = HEADER_HEIGHT;
  for (const work of results.works) {
    const bars = barsOf(work);
    groups.push(drawGroup(work, bars, y));
    y += TITLE_HEIGHT + bars.length * ROW_HEIGHT;
  }
  const height = y + MARGIN;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="system-ui, sans-serif" font-size="12" fill="#22303a" role="img">
<title>CPU time of the gateway's process per request</title>
<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>
${text(MARGIN, 30, "CPU time of the gateway’s process per request, milliseconds; shorter is better", 'font-size="15" font-weight="600"')}
${text(MARGIN, 50, `Median of ${results.rounds} interleaved rounds, one core, Node ${results.node}. × is over the minimal gateway.`, 'fill="#5b6b76"')}
${text(MARGIN, 67, `Made by ${results.command}`, 'fill="#5b6b76"')}
${groups.join("\n")}
</svg>
`;
}

interface Bar {
  readonly target: string;
  readonly value: number;
  readonly ratio: number;
}

function barsOf(work: WorkSamples): Bar[] {
  return work.results
    .filter(({ target }) => !BARE.has(target))
    .map(({ target }) => ({
      target,
      value: medianFor(work, target, "cpuMs"),
      ratio: ratioFor(work, [target, REFERENCE], "cpuMs"),
    }));
}

function drawGroup(work: WorkSamples, bars: readonly Bar[], top: number): string {
  const longest = Math.max(...bars.map(({ value }) => value));
  const title = WORKS.find(({ id }) => id === work.work)?.title ?? work.work;
  const rows = bars.map((bar, index) => drawBar(bar, longest, top + TITLE_HEIGHT + index * ROW_HEIGHT));
  return [text(MARGIN, top + TITLE_HEIGHT - 10, title, 'font-size="13" font-weight="600"'), ...rows].join(
    "\n",
  );
}

function drawBar({ target, value, ratio }: Bar, longest: number, top: number): string {
  const left = MARGIN + LABEL_WIDTH;
  const width = Math.max(1, (value / longest) * BAR_WIDTH);
  const label = `${formatMs(value)} ms${Number.isNaN(ratio) ? "" : ` · ${ratio.toFixed(ratio < 10 ? 2 : 0)} ×`}`;
  const base = top + BAR_HEIGHT - 4;
  return [
    text(left - 8, base, titleOfTarget(target), 'text-anchor="end"'),
    `<rect x="${left}" y="${top}" width="${width.toFixed(1)}" height="${BAR_HEIGHT}" rx="2" fill="${COLORS[target] ?? OTHER_COLOR}"/>`,
    text(Number((left + width + 6).toFixed(1)), base, label),
  ].join("\n");
}

function text(x: number, y: number, content: string, attributes = ""): string {
  const escaped = content.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<text x="${x}" y="${y}" ${attributes}>${escaped}</text>`;
}
