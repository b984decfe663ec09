/**
 * The specifiers of the imports and exports of a source file, including types, in order. Comments are
 * ignored.
 */
export function readImports(source: string): string[] {
  const code = source.replaceAll(/^\s*\/?\*.*$|^\s*\/\/.*$/gm, "");
  const statements = code.matchAll(/^(?:import|export)\b[^;"'`]*?\bfrom\s*"([^"]+)"|^import\s*"([^"]+)"/gm);
  const calls = code.matchAll(/\b(?:import|require)\(\s*"([^"]+)"/g);
  return [...statements, ...calls].map(([, from, bare]) => from ?? bare ?? "");
}
