import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { POSTGRES, REDIS } from "@calotype/conformance/support/service";
import type { Part, PartContext } from "../part.ts";
import { findService } from "../services.ts";
import { type Cell, listCells } from "./faults/cells.ts";
import { CERTIFICATE } from "./faults/certificate.ts";
import { closeHosts } from "./faults/hosts.ts";
import { openRelease, type Release } from "./faults/node-release.ts";
import { type CellResult, runCell } from "./faults/run-cell.ts";
import type { Services } from "./faults/stores.ts";

/** Cells that run at once: most of their time is waiting. */
const AT_ONCE = 6;
/** To build the Next.js app, and to fetch another release of Node, takes long. Shorter runs leave these cells out. */
const LONG_RUN_MS = 60_000;

/** Every host × fault × kind of request, over HTTP/1.1, TLS and HTTP/2, on three release lines of Node. */
export const faultMatrix: Part<Cell> = {
  name: "fault-matrix",
  guarantees:
    "Whatever the provider, the client, Redis or PostgreSQL does, the client gets a documented response or a closed " +
    "connection in a bounded time, record and charge are what the provider made and reported, the next request finds " +
    "its place and its bytes free, no hold is left, and gateway.close() returns. Hosts: gateway.fetch, node:http, " +
    "Express 4 and 5, Koa 2 and 3, Next.js. The provider is reached over HTTP/1.1, TLS and HTTP/2.",
  weight: 2,
  isParallel: true,
  async run(context) {
    const isLong = context.msLeft() >= LONG_RUN_MS;
    const { index, of } = context.share;
    const cells = listCells()
      .filter((cell) => isLong || !takesLong(cell))
      .filter((_, place) => place % of === index);
    await runCells(shuffle(cells, context), context);
  },
  replay: (cell, context) => runCells([cell], { ...context, isOver: () => false }),
};

function takesLong({ host, node }: Cell): boolean {
  return host === "Next.js" || node !== undefined;
}

function shuffle(cells: readonly Cell[], { random }: PartContext<Cell>): Cell[] {
  return cells
    .map((cell) => ({ cell, place: random() }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ cell }) => cell);
}

async function runCells(cells: readonly Cell[], context: PartContext<Cell>): Promise<void> {
  setDefaultCACertificates([...getCACertificates("default"), CERTIFICATE]);
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
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  } finally {
    for (const release of releases.values()) (await release)?.close();
    await closeHosts();
  }
}

interface Trial {
  readonly context: PartContext<Cell>;
  readonly runOne: (cell: Cell) => Promise<CellResult>;
}

async function tryCell(cell: Cell, { context, runOne }: Trial): Promise<void> {
  context.begin(cell);
  const { problems, leftOut } = await runOne(cell).catch(toResult);
  context.count(leftOut === undefined ? "cells" : "cells left out");
  for (const { rule, seen } of problems) {
    // Each fault has its own finding: one defect rarely explains two of them.
    await context.report({ rule: `${rule} (${cell.fault}, ${cell.kind})`, input: cell, seen });
  }
}

/** A cell that could not be judged, for example because a server of its own did not start. */
function toResult(error: unknown): CellResult {
  const seen = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { problems: [{ rule: "the cell runs", seen }] };
}
