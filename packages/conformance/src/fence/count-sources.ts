import { readImports } from "../support/read-imports.js";
import { findFiles, readText } from "../support/workspace.js";

const CORE = "packages/core/src/";
const isTest = (path: string): boolean => /\.test\.tsx?$|\/testing\//.test(path);
const CORE_FILES = findFiles(`${CORE}**/*.ts`);
const SOURCES = CORE_FILES.filter((path) => !isTest(path));
const NAMES = SOURCES.map((path) => path.slice(CORE.length));

/** The code of a file without comments, so that only code is counted. */
const codeOf = (path: string): string => readText(path).replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, "");
const CODE = new Map(SOURCES.map((path) => [path, codeOf(path)]));

/** How often core has this code, in the files that are chosen. */
export const countCode = (pattern: RegExp, where: (name: string) => boolean = () => true): number =>
  NAMES.filter(where).reduce(
    (sum, name) => sum + [...(CODE.get(CORE + name) ?? "").matchAll(pattern)].length,
    0,
  );

/** The features that can be left out, and their entry points. Everything else but `families/` is the kernel. */
const FEATURES = /^features\/|^operator\.ts|^openapi\.ts/;
/** What composes a gateway of all features, and the entry points. */
const DOORS =
  /^(?:index|gateway|compose|billing|stores|adapter|testing)\.ts$|^gateway-options\/|^families\/index\.ts$/;

/** Imports from the kernel into features or into a family. */
export function countImports(): number {
  let count = 0;
  for (const name of NAMES) {
    if (FEATURES.test(name) || DOORS.test(name) || name.startsWith("families/")) continue;
    for (const specifier of readImports(readText(CORE + name))) {
      if (!specifier.startsWith(".")) continue;
      const target = new URL(specifier, `file:///${name}`).pathname.slice(1).replace(/\.js$/, ".ts");
      if (FEATURES.test(target) || /^families\/(?:seedream|qwen-image|openai|gemini)\//.test(target)) count++;
    }
  }
  return count;
}

/** The packages whose types have one name each. */
const PACKAGES = ["core", "emulator", "studio", "sqlite", "postgres", "conformance"];

/** The names of types that are declared in several files of their package. Test files may have types of their own. */
export const countRepeatedTypes = (): number =>
  PACKAGES.flatMap((name) =>
    findRepeatedTypes(findFiles(`packages/${name}/src/**/*.{ts,tsx}`).filter((path) => !isTest(path))),
  ).length;

function findRepeatedTypes(paths: readonly string[]): readonly string[] {
  const declared = paths.flatMap((path) => [
    ...new Set(
      Array.from(
        codeOf(path).matchAll(/^(?:export )?(?:interface|type|class|abstract class) (\w+)/gm),
        ([, name = ""]) => name,
      ),
    ),
  ]);
  return [...new Set(declared.filter((name, index) => declared.indexOf(name) !== index))];
}

export const countRootFiles = (): number => NAMES.filter((name) => !name.includes("/")).length;

/** In hundreds of lines, so that not every change has to write the figure. */
const hundredLinesOf = (paths: readonly string[]): number =>
  Math.ceil(paths.reduce((sum, path) => sum + readText(path).split("\n").length - 1, 0) / 100);

/** The folder of a feature or a family, or what a gateway cannot leave out. */
const partOf = (name: string): string => /^(?:features|families)\/[\w-]+(?=\/)/.exec(name)?.[0] ?? "kernel";

/** The lines of core without tests, by {@link partOf}. */
export const countLinesOfParts = (): Record<string, number> =>
  Object.fromEntries(
    [...Map.groupBy(SOURCES, (path) => partOf(path.slice(CORE.length)))].map(([part, paths]) => [
      part,
      hundredLinesOf(paths),
    ]),
  );
/** Without the tests in the folders of features and families, which go with them. */
export const countLinesOfTests = (): number =>
  hundredLinesOf([
    ...CORE_FILES.filter((path) => isTest(path) && partOf(path.slice(CORE.length)) === "kernel"),
    ...findFiles("packages/conformance/src/**/*.ts"),
  ]);
