import { posix } from "node:path";
import { describe, expect, it } from "vitest";
import { findCycle } from "./support/find-cycle.js";
import { readImports } from "./support/read-imports.js";
import { findFiles, readText } from "./support/workspace.js";

/**
 * The packages of this workspace that each package may import. A package that is not listed may import none.
 */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  core: [],
  client: [],
  emulator: [],
  node: ["core"],
  express: ["node", "core"],
  koa: ["node", "core"],
  next: ["core"],
  sqlite: ["core"],
  postgres: ["core"],
  ledger: ["core", "sqlite", "postgres"],
  react: ["client"],
  redis: ["core"],
  s3: ["core"],
  opentelemetry: ["core"],
  mcp: ["core"],
  studio: ["core"],
};

/**
 * Modules that not every runtime has, and the files of core that may use them. The runtime selects the transport of
 * Node, its temporary files and the check of Node's version. The reader of forms needs busboy, and busboy needs
 * `node:stream` and `node:buffer`. Where megabytes become base64 or are searched, `node:buffer` is many times as fast as
 * what every runtime has.
 */
const RUNTIME_BOUND: Readonly<Record<string, readonly string[]>> = {
  undici: ["upstream/http1-sockets.ts", "upstream/transport-node.ts"],
  "./http1-sockets.js": ["upstream/transport-node.ts"],
  "node:dns": ["upstream/transport-node.ts"],
  "node:net": ["upstream/http1-sockets.ts", "upstream/transport-node.ts"],
  busboy: ["request/multipart.ts", "request/busboy-multipart.d.ts"],
  "busboy/lib/types/multipart.js": ["request/multipart.ts"],
  "node:stream": ["request/multipart.ts"],
  "node:buffer": [
    "images/data-url.ts",
    "images/produced-body.ts",
    "family-suite/check-exchanges.ts",
    "family-suite/check-uploads.ts",
    "family-suite/replay.ts",
    "features/results/arriving-image.ts",
    "features/results/whole-images.ts",
    "responses/fan-out.ts",
    "util/to-buffer.ts",
    "images/base64-size.ts",
    "images/base64-stream.ts",
    "request/form-splitter.ts",
    "request/json.ts",
    "images/reference-image.ts",
    "auth/api-key.ts",
    "features/limits/idempotency.ts",
  ],
  "node:crypto": ["util/sha256.ts"],
  "node:fs": [
    "features/key-command/calotype-key.ts",
    "features/key-command/open-caller-store.ts",
    "images/temporary-file-node.ts",
  ],
  "node:fs/promises": ["images/temporary-file-node.ts"],
  "node:module": ["features/key-command/open-caller-store.ts"],
  "node:os": ["features/key-command/calotype-key.ts", "images/temporary-file-node.ts"],
  "node:process": ["node-version.ts"],
  "node:zlib": ["features/marks/png.ts", "features/marks/testing/sample-images.ts", "node-version.ts"],
  "node:path": ["features/key-command/open-caller-store.ts", "images/temporary-file-node.ts"],
  "node:url": ["features/key-command/open-caller-store.ts"],
  "node:util": ["features/key-command/run-caller-command.ts"],
  "node:diagnostics_channel": ["upstream/http1-sockets.ts"],
};

const PACKAGES = findFiles("packages/*/package.json")
  .filter((path) => (JSON.parse(readText(path)) as { private?: boolean }).private !== true)
  .map((path) => path.split("/")[1] ?? "");
const SOURCES = PACKAGES.flatMap((name) => findFiles(`packages/${name}/src/**/*.ts`)).filter(
  (path) => !path.endsWith(".test.ts") && !path.includes("/src/testing/"),
);
const CORE = SOURCES.filter((path) => path.startsWith("packages/core/src/"));

/** Every import of the given files as `[file, specifier]`. */
const importsOf = (files: readonly string[]): [string, string][] =>
  files.flatMap((file) => readImports(readText(file)).map((name): [string, string] => [file, name]));

describe.each(PACKAGES)("the package %s", (name) => {
  const allowed = new Set(ALLOWED[name]?.map((other) => `@calotype/${other}`));

  const ownSources = SOURCES.filter((path) => path.startsWith(`packages/${name}/`));

  it("imports only the packages that it may import", () => {
    expect(ownSources).not.toEqual([]);
    const ours = importsOf(ownSources).filter(([, specifier]) => specifier.startsWith("@calotype/"));

    expect(ours.filter(([, specifier]) => !allowed.has(toPackage(specifier)))).toEqual([]);
  });

  it("depends on the packages that it imports", () => {
    const manifest = JSON.parse(readText(`packages/${name}/package.json`)) as Record<
      string,
      object | undefined
    >;
    const declared = ["dependencies", "peerDependencies", "optionalDependencies"]
      .flatMap((field) => Object.keys(manifest[field] ?? {}))
      .filter((dependency) => dependency.startsWith("@calotype/"));
    const imported = importsOf(ownSources)
      .map(([, specifier]) => specifier)
      .filter((specifier) => specifier.startsWith("@calotype/"))
      .map(toPackage);

    expect(declared.filter((dependency) => !allowed.has(dependency))).toEqual([]);
    expect(imported.filter((dependency) => !declared.includes(dependency))).toEqual([]);
  });

  it("imports other packages by name and not by path", () => {
    const outside = importsOf(ownSources).filter(
      ([file, specifier]) =>
        specifier.startsWith(".") && !resolve(file, specifier).startsWith(`packages/${name}/src/`),
    );

    expect(outside).toEqual([]);
  });

  it("has no import cycle, including types", () => {
    const graph = new Map(
      ownSources.map((file) => [
        file,
        readImports(readText(file))
          .filter((specifier) => specifier.startsWith("."))
          .map((specifier) => resolve(file, specifier)),
      ]),
    );

    expect(findCycle(graph)).toBeUndefined();
  });
});

/** A folder of core or of its features, or a file beside the folders. */
const toFolder = (path: string): string =>
  path.replace("packages/core/src/", "").replace(/^(features\/[^/]+|[^/]+)\/.*/, "$1/");

/** The box of each folder and file in the map of CONTRIBUTING.md, from 0 at the top. */
function readMap(): ReadonlyMap<string, number> {
  const [, map = ""] = readText("CONTRIBUTING.md").split("```", 2);
  const names = map
    .split(/\n─+\n/)
    .flatMap((box, index) =>
      Array.from(
        box.matchAll(/(?:^| {2})([\w-]+(?:\/|\.ts))(?=\s|$)/gm),
        ([, name]) => [name ?? "", index] as const,
      ),
    );
  return new Map(names);
}

describe("core", () => {
  it("imports only from the same box of the map in CONTRIBUTING.md and from boxes below it", () => {
    const boxes = readMap();
    const boxOf = (path: string): number | undefined =>
      boxes.get(path.replace("packages/core/src/", "").replace(/\/.*/, "/"));
    expect(CORE.filter((path) => boxOf(path) === undefined)).toEqual([]);
    const upward = importsOf(CORE).filter(
      ([file, specifier]) =>
        specifier.startsWith(".") && (boxOf(resolve(file, specifier)) ?? 0) < (boxOf(file) ?? 0),
    );

    expect(upward).toEqual([]);
  });

  it("has folders that do not import each other, directly or over other folders", () => {
    const graph = new Map<string, Set<string>>();
    for (const [file, specifier] of importsOf(CORE)) {
      if (!specifier.startsWith(".")) continue;
      const [from, to] = [toFolder(file), toFolder(resolve(file, specifier))];
      if (from !== to) graph.set(from, (graph.get(from) ?? new Set()).add(to));
    }
    expect(graph.size).toBeGreaterThan(15);

    expect(findCycle(new Map(Array.from(graph, ([from, to]) => [from, [...to]])))).toBeUndefined();
  });

  it("uses modules that not every runtime has only in the listed files", () => {
    const misplaced = importsOf(CORE).filter(([file, specifier]) => {
      const places = RUNTIME_BOUND[specifier] ?? (specifier.startsWith("node:") ? [] : undefined);
      return places !== undefined && !places.includes(file.replace("packages/core/src/", ""));
    });

    expect(misplaced).toEqual([]);
  });
});

describe("all sources", () => {
  it("import files that exist, so that these tests see every import", () => {
    const missing = importsOf(SOURCES).filter(
      ([file, specifier]) =>
        specifier.startsWith(".") &&
        !specifier.endsWith(".json") &&
        !SOURCES.includes(resolve(file, specifier)),
    );

    expect(missing).toEqual([]);
  });
});

describe("the reader of imports", () => {
  it.each([
    ['import { a } from "./a.js";', ["./a.js"]],
    ['import type { A } from "./a.js";', ["./a.js"]],
    ['import {\n  a,\n  type B,\n} from "./a.js";\nimport b from "b";', ["./a.js", "b"]],
    ['export * from "./a.js";\nexport type { B } from "./b.js";', ["./a.js", "./b.js"]],
    ['import "./a.js";', ["./a.js"]],
    ['const a = await import("./a.js");\ntype A = import("./b.js").A;', ["./a.js", "./b.js"]],
    [' * import { a } from "./a.js";\n/* import("b") */\n// import("c")\nexport const a = "x";', []],
    ['export const a = 1;\nexport function b() { return "from"; }\nimport c from "c";', ["c"]],
  ])("reads %j", (source, imports) => {
    expect(readImports(source)).toEqual(imports);
  });
});

describe("the search for cycles", () => {
  it.each([
    { a: ["b"], b: ["c"], c: [] },
    { a: ["b", "c"], b: ["c"], c: [] },
  ])("finds none in %j", (graph) => {
    expect(findCycle(new Map(Object.entries(graph)))).toBeUndefined();
  });

  it.each([
    [{ a: ["b"], b: ["c"], c: ["b"] }, ["b", "c", "b"]],
    [{ a: ["a"] }, ["a", "a"]],
  ])("finds in %j the cycle %j", (graph, cycle) => {
    expect(findCycle(new Map(Object.entries(graph)))).toEqual(cycle);
  });
});

/** The package of a specifier such as `@calotype/core/billing`. */
function toPackage(specifier: string): string {
  return specifier.split("/").slice(0, 2).join("/");
}

/** The source file that a relative import names. */
function resolve(file: string, specifier: string): string {
  return specifier.startsWith(".")
    ? posix.join(posix.dirname(file), specifier).replace(/\.js$/, ".ts")
    : specifier;
}
