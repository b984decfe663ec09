import { join, sep } from "node:path";
import ts from "typescript5";
import { ROOT, readText } from "../support/workspace.ts";

/** An entry point of a package, such as `@calotype/core/billing`. */
export interface EntryPoint {
  /** What users import. */
  readonly specifier: string;
  /** Its declarations, as an absolute path. */
  readonly declarations: string;
  /** The path of its report from the root of the repository. */
  readonly report: string;
}

/** What is read of a package.json. */
interface ExportsManifest {
  readonly name: string;
  readonly exports?: Readonly<Record<string, string | { readonly types?: string }>>;
}

/** The entry points of the packages in these folders, such as `packages/core`, in the order of `exports`. */
export function findEntryPoints(folders: readonly string[]): EntryPoint[] {
  return folders.flatMap((folder) => {
    const { name, exports = {} }: ExportsManifest = JSON.parse(readText(`${folder}/package.json`));
    return Object.entries(exports).flatMap(([path, target]) => {
      if (typeof target === "string" || target.types === undefined) return [];
      const file = path === "." ? "index" : path.slice(2).replaceAll("/", ".");
      return {
        specifier: name + path.slice(1),
        declarations: join(ROOT, folder, target.types),
        report: `${folder}/api/${file}.api.md`,
      };
    });
  });
}

/**
 * Describes the public names of entry points from their built declarations: each name with its signature, without
 * comments and bodies, sorted by name. A name that an earlier entry point of the package has is only mentioned, and so is
 * a name of another package. Types that a signature uses but no entry point exports are part of the report, because a
 * change of them is a change for users. Returns the report of each entry point by its path.
 */
export function describeApi(entries: readonly EntryPoint[]): Map<string, string> {
  // No library is loaded: names are resolved, types are not checked.
  const program = ts.createProgram({
    rootNames: entries.map(({ declarations }) => declarations),
    options: {
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      noLib: true,
      types: [],
    },
  });
  const checker = program.getTypeChecker();
  const reports = new Map<string, string>();
  /** Where a symbol is described. */
  const described = new Map<ts.Symbol, EntryPoint>();

  for (const entry of entries) {
    const file = program.getSourceFile(entry.declarations);
    const module = file && checker.getSymbolAtLocation(file);
    if (module === undefined) throw new Error(`Build first: ${entry.declarations} has no exports.`);
    const names = checker
      .getExportsOfModule(module)
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map((symbol) => ({ name: symbol.name, target: followAlias(checker, symbol) }));
    const blocks = names.map(({ name, target }) => {
      const owner = described.get(target);
      if (owner !== undefined) return `export { ${name} } from "${owner.specifier}";`;
      described.set(target, entry);
      return isOwn(target, entry)
        ? `export ${print(target, name)}`
        : `export { ${name} }; // of another package`;
    });
    reports.set(entry.report, toReport(entry, blocks));
  }

  // A second pass, because a type may be exported by a later entry point.
  for (const entry of entries) {
    const hidden = new Map<string, string>();
    const queue = [...described].filter(([, owner]) => owner === entry).map(([symbol]) => symbol);
    for (const symbol of queue) {
      if (!isOwn(symbol, entry)) continue;
      for (const used of findUsed(checker, symbol)) {
        if (described.has(used) || !isOwn(used, entry)) continue;
        described.set(used, entry);
        hidden.set(used.name, print(used, used.name));
        queue.push(used);
      }
    }
    if (hidden.size === 0) continue;
    const blocks = [...hidden].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
    reports.set(entry.report, `${reports.get(entry.report) ?? ""}${toHidden(blocks)}`);
  }
  return reports;
}

function followAlias(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol {
  return (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol);
}

/** Whether a symbol is declared by the package of an entry point. */
function isOwn(symbol: ts.Symbol, { report }: EntryPoint): boolean {
  const dist = join(ROOT, report.slice(0, report.indexOf("/api/")), "dist") + sep;
  return symbol.declarations?.some((node) => join(node.getSourceFile().fileName).startsWith(dist)) ?? false;
}

const PRINTER = ts.createPrinter({ removeComments: true });

/** The declarations of a symbol under a name, such as `declare function add(a: number): number;`. */
function print(symbol: ts.Symbol, name: string): string {
  const texts = (symbol.declarations ?? []).map((declaration) => {
    const node = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
    const text = PRINTER.printNode(ts.EmitHint.Unspecified, node, node.getSourceFile());
    return text
      .replaceAll("\r\n", "\n")
      .replace(/^(?:export )?(?:default )?/, "")
      .replaceAll(/^ +(?:private |#private).*\n/gm, "")
      .replaceAll("    ", "  ");
  });
  const text = texts.join("\nexport ");
  return symbol.name === name ? text : `{ ${symbol.name} as ${name} }; // ${text}`;
}

/** The symbols that the declarations of a symbol name. */
function findUsed(checker: ts.TypeChecker, symbol: ts.Symbol): Set<ts.Symbol> {
  const used = new Set<ts.Symbol>();
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node)) {
      const found = checker.getSymbolAtLocation(node);
      const target = found && followAlias(checker, found);
      if (target !== undefined && isDeclaredAtTop(target)) used.add(target);
    }
    node.forEachChild(visit);
  };
  for (const declaration of symbol.declarations ?? []) visit(declaration);
  return used;
}

/** Whether a symbol is a declaration of a file, and not a member or a parameter. */
function isDeclaredAtTop(symbol: ts.Symbol): boolean {
  const [declaration] = symbol.declarations ?? [];
  if (declaration === undefined) return false;
  const node = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
  return ts.isSourceFile(node.parent ?? node) && !ts.isSourceFile(node);
}

function toReport({ specifier }: EntryPoint, blocks: readonly string[]): string {
  return `# The public names of \`${specifier}\`

Written by \`vitest run packages/conformance/src/release/api-reports.test.ts -u\` from the built declarations. A change here is
a change for users: [what a version may change](../../../docs/versioning.md).

\`\`\`ts
${blocks.join("\n\n")}
\`\`\`
`;
}

function toHidden(blocks: readonly string[]): string {
  return `
## Used by them, and not exported

\`\`\`ts
${blocks.join("\n\n")}
\`\`\`
`;
}
