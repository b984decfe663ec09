import { type Row, type RowGroup, recordOf, repeatOf, type Sight, UNPRICED } from "./row.js";
import { ALL, isQwenImage, RELAYED, SEEDREAM_WAYS, STREAMS, type Way, WHOLE } from "./ways.js";

const HEAD = [
  "| What happened | Where | The client gets | The record | By image | By token | A repeat |",
  "| --- | --- | --- | --- | --- | --- | --- |",
];

/** The rows as Markdown tables. Rows that differ only in their details are one line. */
export function renderTables(groups: readonly RowGroup[]): string {
  return groups
    .map(({ title, introduction, rows }) => {
      const lines = new Set(rows.map(renderRow));
      return [`### ${title}`, "", introduction, "", ...HEAD, ...lines, ""].join("\n");
    })
    .join("\n");
}

function renderRow(row: Row): string {
  const { happened, ways, sees, charges } = row;
  const isByImageAlone = ways.every(isQwenImage);
  const cells = [
    happened,
    renderWays(ways),
    sees === undefined ? "–" : renderSight(sees),
    renderRecord(row),
    charges.image,
    isByImageAlone ? "–" : renderTokenCharge(charges.token),
    row.closed === undefined ? repeatOf(row) : "–",
  ];
  return `| ${cells.join(" | ")} |`;
}

const NAMES = new Map<readonly Way[], string>([
  [ALL, "everywhere"],
  [SEEDREAM_WAYS, "Seedream"],
  [STREAMS, "streams"],
  [RELAYED, "relayed streams"],
  [WHOLE, "all JSON"],
]);

function renderWays(ways: readonly Way[]): string {
  return NAMES.get(ways) ?? ways.join(", ");
}

function renderSight({ status, images, code, ending }: Sight): string {
  if (ending === "breaks off") return `${status}, ${countImages(images)}, a reset connection`;
  if (ending === "error event")
    return `${status}, ${countImages(images)}, an \`error\` event with ${renderCode(code)}`;
  return code === undefined ? `${status}, ${countImages(images)}` : `${status} ${renderCode(code)}`;
}

function renderRecord(row: Row): string {
  const record = recordOf(row);
  if (record === "none") return "none";
  if (record.state === "unresolved") return "`unresolved`";
  const { status, images, errorCode, reportedUsage } = record;
  const cut = reportedUsage === undefined ? "" : ", `reportedUsage`";
  const facts = `${status}, ${countImages(images)}${cut}`;
  return errorCode === undefined ? facts : `${facts}, ${renderCode(errorCode)}`;
}

function renderTokenCharge(charge: string): string {
  return charge === UNPRICED ? `0, \`${UNPRICED}\`` : charge;
}

function countImages(count = 0): string {
  return count === 1 ? "1 image" : `${count} images`;
}

/** Codes of the gateway are in lower case. Codes of the provider in the rows are not. */
function renderCode(code = ""): string {
  return /^[a-z]/.test(code) ? `\`${code}\`` : "the provider's code";
}
