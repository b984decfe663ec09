import { expect, it } from "vitest";
import { readText } from "./support/workspace.js";

/** The cells of each table row whose first cell begins with code, or with a link to a page of the code. */
function readRows(path: string, from = ""): string[][] {
  const text = readText(path);
  const lines = text.slice(text.indexOf(from)).split("\n");
  return lines.filter((line) => /^\| (?:`|\[`\w+`\]\(errors\/)/.test(line)).map((line) => line.split(" | "));
}

const withoutMarks = (cell = ""): string => cell.replaceAll(/\]\([^)]*\)|[|`[]/g, "").trim();

/** The members of an exported interface. */
function readMembers(path: string, declared: string): (string | undefined)[] {
  const start = `export interface ${declared} {\n`;
  const [, body = ""] = readText(path).split(start);
  const [members = ""] = body.split("\n}");
  return [...members.matchAll(/^ {2}(?:readonly )?(\w+)\??:/gm)].map(([, member]) => member);
}

it("docs/errors.md lists every error code with its status and type, in the order of errors.ts", () => {
  const source = readText("packages/core/src/errors.ts");
  const kinds = [...source.matchAll(/^ {2}(\w+): \{ status: (\d{3}), type: "(\w+)" \},$/gm)];
  const expected = kinds.map(([, code, status, type]) => [code, status, type]);

  const rows = readRows("docs/errors.md", "## Codes").map((row) => row.slice(0, 3).map(withoutMarks));

  expect(expected.length).toBeGreaterThan(20);
  expect(rows).toEqual(expected);
});

it("docs/configuration.md lists exactly the options of the gateway", () => {
  const expected = [
    ...readMembers("packages/core/src/gateway-options/options.ts", "GatewayOptions extends Preferences"),
    ...readMembers("packages/core/src/types.ts", "Preferences"),
  ];

  const page = readText("docs/configuration.md").split("\n## Models")[0] ?? "";
  const named = [...page.matchAll(/^\| `(\w+)[.`]/gm)].map(([, option]) => option);

  expect(expected.length).toBeGreaterThan(20);
  expect(new Set(named)).toEqual(new Set(expected));
});
