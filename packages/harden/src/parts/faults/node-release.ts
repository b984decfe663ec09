import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fetchRuntimes } from "@calotype/runtimes/fetch-runtimes";
import { findInstalled } from "@calotype/runtimes/installed-runtimes";
import type { Cell } from "./cells.ts";
import type { CellResult } from "./run-cell.ts";
import type { Services } from "./stores.ts";

/** Runs cells in a process of another release of Node. */
export interface Release {
  run(cell: Cell): Promise<CellResult>;
  close(): void;
}

/** The messages to and from the process. */
export interface CellRequest {
  readonly number: number;
  readonly cell: Cell;
  readonly services: Services;
}
export interface CellReply {
  readonly number: number;
  readonly result: CellResult;
}

const PROGRAM = new URL("cell-process.ts", import.meta.url);

/** Starts the process. `undefined`: the release is not installed and cannot be fetched. */
export async function openRelease(node: 22 | 26, services: Services): Promise<Release | undefined> {
  const program = await findProgram(node);
  if (program === undefined) return undefined;
  const child = fork(PROGRAM, {
    execPath: program,
    execArgv: ["--experimental-strip-types", "--disable-warning=ExperimentalWarning"],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const waiting = new Map<number, (result: CellResult) => void>();
  let isClosed = false;
  child.on("message", ({ number, result }: CellReply) => {
    waiting.get(number)?.(result);
    waiting.delete(number);
  });
  child.once("exit", (code, signal) => {
    if (isClosed) return;
    const problem = { rule: "the process does not die", seen: `Node ${node}: ${code ?? signal}` };
    for (const resolve of waiting.values()) resolve({ problems: [problem] });
    waiting.clear();
  });
  await once(child, "spawn");
  let numbers = 0;
  return {
    run: (cell) =>
      new Promise((resolve) => {
        const number = numbers++;
        waiting.set(number, resolve);
        ask(child, { number, cell, services }, resolve);
      }),
    close() {
      isClosed = true;
      child.kill();
    },
  };
}

function ask(child: ChildProcess, request: CellRequest, resolve: (result: CellResult) => void): void {
  child.send(request, (error) => {
    if (error === null) return;
    resolve({ problems: [{ rule: "the process does not die", seen: String(error) }] });
  });
}

/** The oldest Node 22 comes with the workspace; Node 26 is fetched once from the npm registry. */
async function findProgram(node: 22 | 26): Promise<string | undefined> {
  const installed = node === 22 ? findInstalled("Node 22") : undefined;
  if (installed !== undefined && installed.leftOut === undefined) return installed.program;
  try {
    const [fetched] = await fetchRuntimes([`Node ${node}`]);
    return fetched?.program;
  } catch (error) {
    if (process.env["CI"] === "true") throw error;
    process.stderr.write(`Left out: Node ${node}, which could not be fetched.\n`);
    return undefined;
  }
}
