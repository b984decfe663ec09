import ts from "typescript5";

/** How the public names of an entry point differ between two reports. */
export interface ApiDifference {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Names that only got optional members, optional parameters, or more alternatives. */
  readonly extended: readonly string[];
  /** Names with another signature, or with another type behind them that is not exported. */
  readonly changed: readonly string[];
  /** The lines that differ of each extended and changed name, with `-` or `+` before them. */
  readonly lines: ReadonlyMap<string, readonly string[]>;
}

/** Compares two reports. An entry point without an earlier report has only new names. */
export function compareApi(before: string, after: string): ApiDifference {
  const [old, present] = [readBlocks(before), readBlocks(after)];
  const added: string[] = [];
  const removed: string[] = [];
  const extended: string[] = [];
  const changed: string[] = [];
  const lines = new Map<string, string[]>();
  for (const [name, { isPublic, text }] of present) {
    const earlier = old.get(name);
    if (isPublic && earlier?.isPublic !== true) added.push(name);
    if (earlier === undefined || earlier.text === text) continue;
    (isExtension(earlier.text, text) ? extended : changed).push(name);
    lines.set(name, compareLines(earlier.text, text));
  }
  for (const [name, { isPublic }] of old) {
    if (isPublic && present.get(name)?.isPublic !== true) removed.push(name);
  }
  return { added, removed, extended, changed, lines };
}

/** A declaration of a report. */
interface Block {
  /** Whether the entry point exports it. If not, an exported signature uses it. */
  readonly isPublic: boolean;
  /** The declaration without `export`. */
  readonly text: string;
}

/** The blocks of a report by their name. */
function readBlocks(report: string): Map<string, Block> {
  const code = [...report.matchAll(/```ts\n([^]*?)\n```/g)].map(([, text = ""]) => text).join("\n\n");
  const blocks = code.split("\n\n").filter((block) => block !== "");
  return new Map(
    blocks.map((block) => [
      nameOf(block),
      { isPublic: block.startsWith("export "), text: block.replaceAll(/^export /gm, "") },
    ]),
  );
}

/** The name that a block declares: the first word after the keywords. */
function nameOf(block: string): string {
  const [, name] =
    /^(?:export )?(?:\{ |(?:declare )?(?:abstract )?(?:interface|type|class|function|const|let|enum) )([\w$]+)/.exec(
      block,
    ) ?? [];
  if (name === undefined) throw new Error(`A report has a block without a name: ${block}`);
  return name;
}

/** The lines that only one of two texts has. */
function compareLines(before: string, after: string): string[] {
  const [old, present] = [before.split("\n"), after.split("\n")];
  return [
    ...old.filter((line) => !present.includes(line)).map((line) => `-${line}`),
    ...present.filter((line) => !old.includes(line)).map((line) => `+${line}`),
  ];
}

/** Whether code that uses a declaration as it was also works with the later one, judged by the text alone. */
function isExtension(before: string, after: string): boolean {
  const [old, present] = [parse(before), parse(after)];
  if (old === undefined || present === undefined || old.rest !== present.rest) return false;
  const later = new Set(present.parts.map(({ text }) => text));
  const earlier = new Set(old.parts.map(({ text }) => text));
  if (!old.parts.every(({ text }) => later.has(text))) return false;
  if (old.isOrdered && !old.parts.every(({ text }, at) => present.parts[at]?.text === text)) return false;
  return present.parts.every(({ text, isOptional }) => earlier.has(text) || isOptional);
}

/** A declaration whose parts may get more: the members of an interface, say, and the text around them. */
interface Parts {
  readonly rest: string;
  readonly parts: readonly { readonly text: string; readonly isOptional: boolean }[];
  readonly isOrdered: boolean;
}

function parse(text: string): Parts | undefined {
  const file = ts.createSourceFile("block.d.ts", text, ts.ScriptTarget.Latest, true);
  const [node, ...others] = file.statements;
  if (node === undefined || others.length > 0) return undefined;
  if (ts.isInterfaceDeclaration(node)) return partsOf(file, node.members, mayBeAbsent);
  // Users get objects of a class. They do not implement it.
  if (ts.isClassDeclaration(node)) return partsOf(file, node.members, () => true);
  if (ts.isFunctionDeclaration(node)) return partsOf(file, node.parameters, mayBeAbsent, true);
  if (!ts.isTypeAliasDeclaration(node)) return undefined;
  if (ts.isUnionTypeNode(node.type)) return partsOf(file, node.type.types, () => true);
  if (ts.isTypeLiteralNode(node.type)) return partsOf(file, node.type.members, mayBeAbsent);
  return undefined;
}

function partsOf<T extends ts.Node>(
  file: ts.SourceFile,
  nodes: ts.NodeArray<T>,
  mayBeAdded: (node: T) => boolean,
  isOrdered = false,
): Parts {
  return {
    rest: file.text.slice(0, nodes.pos) + file.text.slice(nodes.end),
    parts: nodes.map((node) => ({ text: node.getText(file), isOptional: mayBeAdded(node) })),
    isOrdered,
  };
}

/** Whether a member or a parameter may be absent. */
function mayBeAbsent(node: ts.TypeElement | ts.ParameterDeclaration): boolean {
  if (node.questionToken !== undefined) return true;
  return ts.isParameter(node) && node.dotDotDotToken !== undefined;
}
