import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { POSTGRES, REDIS } from "@calotype/conformance/support/service";
import type { PartContext } from "../../part.ts";
import { findService } from "../../services.ts";
import type { Cell } from "./cells.ts";
import { CERTIFICATE } from "./certificate.ts";
import { closeHosts, prepareNext } from "./hosts.ts";
import { openRelease, type Release } from "./node-release.ts";
import { type CellResult, runCell } from "./run-cell.ts";
import type { Services } from "./stores.ts";

/** The number of cells that run at once. Most of their time is waiting. */
const CONCURRENT_CELLS = 6;

/** Runs cells, several at once, and reports the rules that they break. */
export async function runCells(cells: readonly Cell[], context: PartContext<Cell>): Promise<void> {
  setDefaultCACertificates([...getCACertificates("default"), CERTIFICATE]);
  if (cells.some(({ host }) => host === "Next.js")) await prepareNext();
  const services: Services = {
    redisUrl: await findService(REDIS),
    postgresUrl: await findService(POSTGRES),
  };
  const releases = new Map<Cell["node"], Promise<Release | undefined>>();
  const runOne = async (cell: Cell): Promise<CellResult> => {
    if (cell.node === undefined) return runCell(cell, services);
    const release = releases.get(cell.node) ?? openRelease(cell.node, services);
    releases.set(cell.node, release);
    const opened = await release;
    return opened === undefined
      ? { problems: [], leftOut: `Node ${cell.node} is missing` }
      : opened.run(cell);
  };
  const waiting = cells[Symbol.iterator]();
  const work = async (): Promise<void> => {
    for (const cell of waiting) {
      await tryCell(cell, { context, runOne });
      if (context.isOver()) return;
    }
  };
  try {
    await Promise.all(Array.from({ length: CONCURRENT_CELLS }, work));
  } finally {
    for (const release of releases.values()) (await release)?.close();
    await closeHosts();
  }
}

interface CellRun {
  readonly context: PartContext<Cell>;
  readonly runOne: (cell: Cell) => Promise<CellResult>;
}

async function tryCell(cell: Cell, { context, runOne }: CellRun): Promise<void> {
  context.begin(cell);
  const { problems, leftOut } = await runOne(cell).catch(toResult);
  context.count(leftOut === undefined ? "cells" : "cells left out");
  for (const { rule, seen } of problems) {
    // Each fault has its own finding, because a defect rarely affects two of them.
    await context.report({ rule: `${rule} (${cell.fault}, ${cell.kind})`, input: cell, seen });
  }
}

/** The result of a cell that could not run, for example because a server did not start. */
function toResult(error: unknown): CellResult {
  const seen = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { problems: [{ rule: "the cell runs", seen }] };
}
