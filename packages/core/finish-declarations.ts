// The last step of the build, after `tsc` has written the declarations.
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const DIST = join(import.meta.dirname, "dist");

loadOnOlderCompilers();
copyAsCommonJs(join(DIST, "billing"), new Set());

/** `Uint8Array` has a parameter only since TypeScript 5.7. The type of `Uint8Array.of` is the same in every version. */
function loadOnOlderCompilers(): void {
  for (const name of globSync("**/*.d.ts", { cwd: DIST })) {
    const text = readFileSync(join(DIST, name), "utf8");
    const changed = text
      .replaceAll("Uint8Array<ArrayBuffer>", 'ReturnType<Uint8ArrayConstructor["of"]>')
      .replaceAll("Uint8Array<ArrayBufferLike>", "Uint8Array");
    if (changed !== text) writeFileSync(join(DIST, name), changed);
  }
}

/**
 * Writes the declarations of the CommonJS build of `@calotype/core/billing`: copies of a file and of all that it imports, as
 * `.d.cts`, because TypeScript takes a `.d.ts` of this package for an ES module and refuses it in a CommonJS file.
 */
function copyAsCommonJs(file: string, copied: Set<string>): void {
  if (copied.has(file)) return;
  copied.add(file);
  const text = readFileSync(`${file}.d.ts`, "utf8");
  const relative = /(from |import\()"(\.{1,2}\/[^"]+)\.js"/g;
  const own = text.replaceAll(relative, '$1"$2.cjs"').replace(/\n\/\/# sourceMappingURL=.*/, "");
  writeFileSync(`${file}.d.cts`, own);
  for (const [, , link = ""] of text.matchAll(relative)) copyAsCommonJs(join(file, "..", link), copied);
}
