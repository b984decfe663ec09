import { readFileSync } from "node:fs";
import { type Profiler, Session } from "node:inspector/promises";
import { SourceMap } from "node:module";
import { fileURLToPath } from "node:url";

/** Finds the source files of core that run: at least one of their functions was called. */
export interface FileFinder {
  start(): Promise<void>;
  /** Paths below `core/src`. */
  stop(): Promise<readonly string[]>;
}

/** Asks V8 which functions of the compiled core were called, and source maps of which files they are. */
export async function createFileFinder(): Promise<FileFinder> {
  const folder = new URL(".", import.meta.resolve("@calotype/core")).href;
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  // It returns the calls since it was called before.
  const takeCalls = () => session.post("Profiler.takePreciseCoverage");
  return {
    start: async () => void (await takeCalls()),
    async stop() {
      const { result } = await takeCalls();
      const files = result.filter(({ url }) => url.startsWith(folder)).flatMap(findSources);
      return [...new Set(files)].toSorted();
    },
  };
}

function findSources({ url, functions }: Profiler.ScriptCoverage): string[] {
  const path = fileURLToPath(url);
  const lines = readFileSync(path, "utf8").split("\n");
  const map = new SourceMap(JSON.parse(readFileSync(`${path}.map`, "utf8")));
  return functions.flatMap(({ ranges: [whole] }) => {
    if (whole === undefined || whole.count === 0) return [];
    let line = 0;
    let column = whole.startOffset;
    for (; column > (lines[line]?.length ?? column); line++) column -= (lines[line]?.length ?? 0) + 1;
    const entry = map.findEntry(line, column);
    // Not zod, which is in core's compiled files.
    const [, name] = ("originalSource" in entry && /^(?:\.\.\/)+src\/(.*)/.exec(entry.originalSource)) || [];
    return name ?? [];
  });
}
