/** A block of TypeScript in a document or in a comment. */
export interface CodeBlock {
  /** The path of the file from the root of the workspace. */
  readonly path: string;
  /** The line of its first line of code, from 1. */
  readonly line: number;
  readonly code: string;
  /** Whether it may contain JSX. */
  readonly isJsx?: true;
}

/** The TypeScript blocks of a document. Blocks that begin with ```` ```ts fragment ```` are ignored. */
export function extractFromMarkdown(path: string, text: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open: { line: number; indent: string; isCode: boolean; jsx: Pick<CodeBlock, "isJsx"> } | undefined;
  let lines: string[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    const fence = /^(\s*)```(.*)$/.exec(line);
    if (fence === null) {
      lines.push(open !== undefined && line.startsWith(open.indent) ? line.slice(open.indent.length) : line);
    } else if (open === undefined) {
      const isCode = /^(?:ts|tsx|typescript)(?:\s(?!.*\bfragment\b).*)?$/.test((fence[2] ?? "").trim());
      const jsx = fence[2]?.startsWith("tsx") === true ? { isJsx: true as const } : {};
      open = { line: index + 2, indent: fence[1] ?? "", isCode, jsx };
      lines = [];
    } else {
      if (open.isCode) blocks.push({ path, line: open.line, code: lines.join("\n"), ...open.jsx });
      open = undefined;
    }
  }
  return blocks;
}

/** The blocks in the comments of a source file. */
export function extractFromComments(path: string, source: string): CodeBlock[] {
  const comments = source.split("\n").map((line) => /^\s*\* ?(.*)$/.exec(line)?.[1] ?? "");
  return extractFromMarkdown(path, comments.join("\n"));
}
