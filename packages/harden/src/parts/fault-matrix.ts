import type { Part, PartContext } from "../part.ts";
import { type Cell, listCells } from "./faults/cells.ts";

/** Shorter runs leave out Next.js, which must be built, and other releases of Node, which must be fetched. */
const LONG_RUN_MS = 120_000;

/** Every host × fault × kind of request, over HTTP/1.1, TLS and HTTP/2, on three release lines of Node. */
export const faultMatrix: Part<Cell> = {
  name: "fault-matrix",
  guarantees:
    "Combines every fault of the provider, the client, Redis and PostgreSQL with every host: gateway.fetch, " +
    "node:http, Express 4 and 5, Koa 2 and 3, Next.js. Requests get JSON, a stream of the provider, a stream in OpenAI's " +
    "format, or a stream that begins before the provider responds. The provider is reached over HTTP/1.1, TLS and HTTP/2. " +
    "The client always gets a documented response or a closed connection in a bounded time. Record and charge " +
    "match what the provider made and reported, the slot and the bytes in flight are free for the next request, " +
    "no hold is left, and gateway.close() returns.",
  weight: 2,
  isParallel: true,
  async run(context) {
    const isLong = context.msLeft() >= LONG_RUN_MS;
    const { index, of } = context.share;
    const cells = listCells()
      .filter((cell) => isLong || !takesLong(cell))
      .filter((_, number) => number % of === index);
    const { runCells } = await loadRunner();
    await runCells(shuffle(cells, context), context);
  },
  async replay(cell, context) {
    const { runCells } = await loadRunner();
    await runCells([cell], { ...context, isOver: () => false });
  },
};

function takesLong({ host, node }: Cell): boolean {
  return host === "Next.js" || node !== undefined;
}

function shuffle(cells: readonly Cell[], { random }: PartContext<Cell>): Cell[] {
  return cells
    .map((cell) => ({ cell, order: random() }))
    .toSorted((one, other) => one.order - other.order)
    .map(({ cell }) => cell);
}

/** Loaded on demand: every part loads this file, and the frameworks take long to load. */
const loadRunner = () => import("./faults/run-cells.ts");
