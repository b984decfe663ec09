// docs/errors/: a page for each error code, and their list. The tests write them.
import type { ErrorCode } from "@calotype/core";
import type { ErrorPage, ErrorPages } from "./error-page.ts";
import { REQUEST_ERRORS } from "./requests.ts";
import { SERVER_ERRORS } from "./server.ts";
import { UPSTREAM_ERRORS } from "./upstream.ts";

/** What the pages say. A code without an entry is an error of the compiler. */
export const ERROR_PAGES: ErrorPages<ErrorCode> = { ...REQUEST_ERRORS, ...UPSTREAM_ERRORS, ...SERVER_ERRORS };

/** A row of the table of docs/errors.md. */
export interface ErrorRow {
  readonly code: ErrorCode;
  readonly status: string;
  readonly type: string;
  /** The column *Repeat*. */
  readonly repeat: string;
}

/** Reads the rows of docs/errors.md. */
export function readErrorRows(page: string): ErrorRow[] {
  const table = page.slice(page.indexOf("## Codes")).split("\n## ")[0] ?? "";
  return [...table.matchAll(/^\| \[`(\w+)`\]\([^)]*\) \| (\d+) \| `(\w+)` \|([^|]*)\|/gm)].map(
    ([, code = "", status = "", type = "", repeat = ""]) => {
      if (!isCode(code))
        throw new Error(`docs/errors.md has a code that has no page in packages/site/src/errors: ${code}`);
      return { code, status, type, repeat: repeat.trim() };
    },
  );
}

const isCode = (code: string): code is ErrorCode => Object.hasOwn(ERROR_PAGES, code);

/** The page of a code. */
export function renderErrorPage(row: ErrorRow): string {
  const { means, when, charged, client, operator, ...example } = ERROR_PAGES[row.code];
  return `# \`${row.code}\`

${means}

| Status | Type | Repeat |
| --- | --- | --- |
| ${row.status} | \`${row.type}\` | ${describeRepeat(row.repeat)} |

## When it happens

${when.map((cause) => `- ${cause}`).join("\n")}

## Was it charged?

${charged}

## What the client should do

${client}

## What the operator should do

${operator}

## Example

\`\`\`json
${JSON.stringify(toEnvelope(row, example), null, 2)}
\`\`\`

[All errors](../errors.md) · [What is sent again](../errors.md#what-is-sent-again)
`;
}

/** The body of a response with this error. */
function toEnvelope(
  { code, status, type }: ErrorRow,
  { message, param }: Pick<ErrorPage, "message" | "param">,
) {
  const shown = status === "400" ? "invalid_request_error" : code;
  return { error: { message, type, code: shown, param: param ?? null } };
}

/** Which header says whether a repeat can succeed. */
function describeRepeat(repeat: string): string {
  const withHeader = repeat.replace(/\*?\bno\b\*?(?= if|,|$)/, "`x-should-retry: false`");
  if (repeat === "") return "no header";
  return repeat.startsWith("no") ? withHeader : `\`retry-after\`: ${withHeader}`;
}

/** The list of the pages, by status. */
export function renderErrorList(rows: readonly ErrorRow[]): string {
  const lines = rows
    .toSorted((a, b) => Number(a.status) - Number(b.status))
    .map(({ code, status }) => `| ${status} | [\`${code}\`](${code}.md) | ${ERROR_PAGES[code].means} |`);
  return `# Error codes

Each code has a page: when it happens, whether it was charged, and what the client and the operator should do.
[Errors](../errors.md) describes the format, the headers, and the errors of the providers. If you know only what you see,
look into [troubleshooting](../troubleshooting.md).

| Status | Code | Meaning |
| --- | --- | --- |
${lines.join("\n")}
`;
}
