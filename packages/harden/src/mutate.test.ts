import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ROOT } from "@calotype/conformance/support/workspace";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { drawMutants, type Mutant } from "./mutants/draw-mutants.ts";
import { instrument } from "./mutants/instrument.ts";
import { runMutants } from "./mutants/run-mutants.ts";

const SOURCE = `
const LIMIT = 4;
export function shorten(text: string, options?: { readonly dots?: { readonly count: number } }): string {
  if (text.length <= LIMIT) return text;
  let dots = "";
  for (let made = 0; made < (options?.dots?.count ?? 1); made++) {
    dots += ".";
  }
  return text.slice(0, LIMIT) + dots;
}
export const hasEnded = (state: "open" | "ended"): boolean => state === "ended";
export function unused(value: boolean): boolean {
  return !value;
}
`;

/** Does not tell a text of exactly four letters from a longer one, and never calls `unused`. */
const TEST = `
import { expect, it } from "vitest";
import { hasEnded, shorten } from "./planted.js";
it("shortens", () => {
  expect(shorten("long text")).toBe("long.");
  expect(shorten("long text", { dots: { count: 2 } })).toBe("long..");
  expect(shorten("a")).toBe("a");
});
it("knows the end", () => {
  expect([hasEnded("ended"), hasEnded("open")]).toEqual([true, false]);
});
`;
const FAILING = `import { expect, it } from "vitest"; it("fails", () => expect(1).toBe(2));`;

const FOLDER = "packages/core/src";
const SOURCE_PATH = `${FOLDER}/planted/planted.ts`;
const root = mkdtempSync(join(tmpdir(), "mutants-"));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

const draw = (seed = 1, count = 100): Mutant[] =>
  drawMutants({ root, files: [SOURCE_PATH], project: "tsconfig.json", seed, count });

beforeAll(() => {
  write(SOURCE_PATH, SOURCE);
  write(`${FOLDER}/planted/planted.test.ts`, TEST);
  write(`${FOLDER}/failing.test.ts`, FAILING);
  write("package.json", JSON.stringify({ type: "module" }));
  const options = { extends: join(ROOT, "tsconfig.base.json"), compilerOptions: { noEmit: true, types: [] } };
  write("tsconfig.json", JSON.stringify({ ...options, files: [SOURCE_PATH] }));
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"), "junction");
});
afterAll(() => rmSync(root, { recursive: true }));

const ids = (seed: number, count?: number): string[] => draw(seed, count).map(({ id }) => id);
const nameOf = ({ original, code }: Mutant): string => `${original} → ${code}`;

describe("the mutants of a file", () => {
  it("are operators, conditions, constants, results, statements and optional chains, if they compile", () => {
    expect(draw().map(nameOf).toSorted()).toMatchInlineSnapshot(`
      [
        "!value → (value)",
        """ → ("changed")",
        ""." → ("")",
        "0 → (1)",
        "0 → (1)",
        "1 → (2)",
        "4 → (5)",
        "dots += "."; → ;",
        "made < (options?.dots?.count ?? 1) → (made <= (options?.dots?.count ?? 1))",
        "made++ → (made--)",
        "options?.dots?.count → (options!.dots?.count)",
        "options?.dots?.count → (options?.dots!.count)",
        "state === "ended" → (state !== "ended")",
        "text → ("")",
        "text.length <= LIMIT → (!(text.length <= LIMIT))",
        "text.length <= LIMIT → (text.length < LIMIT)",
        "text.slice(0, LIMIT) + dots → ("")",
      ]
    `);
  });

  it("depend on the seed only, and fewer of them are the first of more", () => {
    expect(ids(1)).toEqual(ids(1));
    expect(ids(2)).not.toEqual(ids(1));
    expect(ids(2, 3)).toEqual(ids(2).slice(0, 3));
  });
});

it("a mutant survives if no test catches it, and a test that fails anyway catches none", async () => {
  const mutants = draw().filter(({ original }) => ["!value", 'state === "ended"'].includes(original));
  instrument(root, FOLDER, mutants);
  const lines: string[] = [];
  const fates = await runMutants({
    root,
    tests: [FOLDER],
    mutants: mutants.map((mutant, number) => ({ mutant, number })),
    processes: 2,
    print: (line) => lines.push(line),
  });

  expect(lines[0]).toBe(`Left out, since it fails without a mutant: ${FOLDER}/failing.test.ts > fails`);
  const path = `${FOLDER}/planted/planted.test.ts`;
  const ends = new Map(fates.map(({ mutant, caughtBy, test }) => [mutant.original, [caughtBy, test]]));
  expect(Object.fromEntries(ends)).toEqual({
    "!value": [undefined, undefined],
    'state === "ended"': [path, "knows the end"],
  });
});
