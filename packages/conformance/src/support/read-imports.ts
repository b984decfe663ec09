/** What a source file names in imports and exports, types too, in order. Not what comments show. */
export function readImports(source: string): string[] {
  const code = source.replaceAll(/^\s*\/?\*.*$|^\s*\/\/.*$/gm, "");
  const statements = code.matchAll(/^(?:import|export)\b[^;"'`]*?\bfrom\s*"([^"]+)"|^import\s*"([^"]+)"/gm);
  const calls = code.matchAll(/\b(?:import|require)\(\s*"([^"]+)"/g);
  return [...statements, ...calls].map(([, from, bare]) => from ?? bare ?? "");
}
