import { spawnSync } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { CACHE } from "./folders.ts";
import type { Runtime, RuntimeKind } from "./runtime.ts";

interface Source {
  readonly name: string;
  readonly kind: RuntimeKind;
  readonly version: string;
  /** The package of the registry that holds nothing but the binary for this machine. */
  readonly package: string;
  /** The binary in it. */
  readonly file: string;
}

const { platform, arch } = process;
const isWindows = platform === "win32";
const exe = isWindows ? ".exe" : "";
const nodePackage = `node-${isWindows ? "win" : platform}-${arch}`;

/** What `npm run test:runtimes` runs on. None has an install script. */
const SOURCES: readonly Source[] = [
  { name: "Node 22", kind: "node", version: "22.23.3", package: nodePackage, file: `bin/node${exe}` },
  { name: "Node 24", kind: "node", version: "24.21.0", package: nodePackage, file: `bin/node${exe}` },
  { name: "Node 26", kind: "node", version: "26.9.0", package: nodePackage, file: `bin/node${exe}` },
  {
    name: "Bun",
    kind: "bun",
    version: "1.4.5",
    package: `@oven/bun-${isWindows ? "windows" : platform}-${arch === "arm64" ? "aarch64" : arch}`,
    file: `bin/bun${exe}`,
  },
  {
    name: "Deno",
    kind: "deno",
    version: "2.9.6",
    package: `@deno/${platform}-${arch}${platform === "linux" ? "-glibc" : ""}`,
    file: `deno${exe}`,
  },
  {
    name: "workerd",
    kind: "workerd",
    version: "1.20261117.1",
    package: `@cloudflare/workerd-${isWindows ? "windows" : platform}-${arch === "x64" ? "64" : arch}`,
    file: `bin/workerd${exe}`,
  },
];

/** The runtimes of these names, or all; each is downloaded once, from the npm registry. */
export async function fetchRuntimes(names: readonly string[]): Promise<readonly Runtime[]> {
  const wanted = SOURCES.filter(({ name }) => names.length === 0 || names.includes(name));
  const runtimes: Runtime[] = [];
  for (const source of wanted) runtimes.push(await fetchRuntime(source));
  return runtimes;
}

async function fetchRuntime({ name, kind, version, package: from, file }: Source): Promise<Runtime> {
  const alias = `${kind}-${version}`;
  const folder = join(CACHE, alias);
  const program = join(folder, "node_modules", alias, file);
  if (spawnSync(program, ["--version"]).status !== 0) {
    await mkdir(folder, { recursive: true });
    const args = [
      "install",
      "--prefix",
      folder,
      "--ignore-scripts",
      "--no-audit",
      `${alias}@npm:${from}@${version}`,
    ];
    const { status, stderr } = spawnSync("npm", args, { encoding: "utf8", shell: isWindows });
    if (status !== 0) throw new Error(`${name} ${version} could not be fetched:\n${stderr}`);
  }
  return { kind, name: `${name} (${version})`, program };
}
