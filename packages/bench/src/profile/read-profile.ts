/** The parts of a V8 CPU profile that are read here. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  /** Microseconds of the system's monotonic clock. */
  readonly startTime: number;
  readonly samples: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[];
}

/** A function, and its self time. */
export interface SelfTime {
  readonly name: string;
  readonly ms: number;
}

/** Returns functions by self time since a moment of the monotonic clock, longest first, without idle time. */
export function readSelfTimes(text: string, sinceMicroseconds: number): SelfTime[] {
  const { nodes, startTime, samples, timeDeltas }: CpuProfile = JSON.parse(text);
  const names = new Map(nodes.map(({ id, callFrame }) => [id, describe(callFrame)]));
  const times = new Map<string, number>();
  let clock = startTime;
  for (const [index, id] of samples.entries()) {
    clock += timeDeltas[index] ?? 0;
    if (clock < sinceMicroseconds) continue;
    const name = names.get(id) ?? "";
    times.set(name, (times.get(name) ?? 0) + (timeDeltas[index] ?? 0) / 1000);
  }
  return [...times]
    .map(([name, ms]) => ({ name, ms }))
    .filter(({ name }) => name !== "(idle)")
    .toSorted((a, b) => b.ms - a.ms);
}

/** The same by package, including Node and V8. */
export function sumByPackage(times: readonly SelfTime[]): SelfTime[] {
  const sums = new Map<string, number>();
  for (const { name, ms } of times) {
    const part = packageOf(name);
    sums.set(part, (sums.get(part) ?? 0) + ms);
  }
  return [...sums].map(([name, ms]) => ({ name, ms })).toSorted((a, b) => b.ms - a.ms);
}

/** `find core/dist/index.js:7` belongs to `core`. Functions of the runtime have no file. */
function packageOf(name: string): string {
  const path = name.split(" ").at(-1) ?? "";
  if (name === "(garbage collector)") return "garbage collection";
  if (path.startsWith("node:")) return "node";
  if (path.startsWith("wasm:") || name.startsWith("RegExp:")) return "V8 and system calls";
  return /^(@[^/]+\/[^/]+|[^/]+)\//.exec(path)?.[1] ?? "V8 and system calls";
}

function describe({ functionName, url, lineNumber }: CpuProfile["nodes"][number]["callFrame"]): string {
  const name = functionName || "(anonymous)";
  return url === "" ? name : `${name} ${shorten(url)}:${lineNumber + 1}`;
}

/** The package and the file in it. */
function shorten(url: string): string {
  const path = url.split("/node_modules/").at(-1) ?? url;
  return path.replace(/^file:.*\/packages\//, "");
}
