// Which cell a caller belongs to. A cell is some gateways with a database and Redis keys of their own, for some of the callers. The
// balancer asks any gateway for the cell of a request, and each gateway refuses callers of other cells.
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Authenticate, type Caller, type CallerOptions, GatewayError, hashApiKey } from "@calotype/core";
import { findCell } from "@calotype/core/operator";
import { jsonFile } from "@calotype/node";

/** The content of `cells.json`. All gateways of all cells have the same. */
export interface CellPlan {
  /** The names of the cells. */
  readonly cells: readonly string[];
  /** Callers that are not in the cell that `findCell` finds. */
  readonly moved: Readonly<Record<string, string>>;
}

/** A gateway's view of the cells. */
export interface CellMember {
  /** Finds callers by their keys, and refuses those of other cells. For the option `authenticate`. */
  readonly authenticate: Authenticate;
  /** Says in the header `x-cell` where the balancer must send a request with these headers. */
  readonly respond: (req: IncomingMessage, res: ServerResponse) => void;
  /** Stops watching the file. */
  readonly close: () => void;
}

/** What a gateway needs to know. */
export interface CellOptions {
  /** The path of `cells.json`. A change is read within a second or two. */
  readonly path: string;
  /** The cell of this gateway. */
  readonly own: string;
  /** The callers of all cells. */
  readonly callers: readonly CallerOptions[];
}

/** @throws Error if the file cannot be read or is wrong */
export async function joinCells({ path, own, callers }: CellOptions): Promise<CellMember> {
  const file = jsonFile<unknown>(path, { watch: true });
  let plan = checkPlan(await file(), own);
  const reload = async (): Promise<void> => {
    try {
      plan = checkPlan(await file(), own);
    } catch (error) {
      console.error("The cells stay as they were.", error instanceof Error ? error.message : error);
    }
  };
  const close = file.watch?.(() => void reload());
  const byHash = new Map<string, Caller>(
    callers.map(({ key, hash, ...caller }) => [hash?.toLowerCase() ?? hashApiKey(key ?? ""), caller]),
  );
  const find = (apiKey: string): Caller | undefined => byHash.get(hashApiKey(apiKey));
  return {
    authenticate: (apiKey) => {
      const caller = find(apiKey);
      if (caller !== undefined && cellOf(caller.id, plan) !== own) throw refuse();
      return caller;
    },
    respond: (req, res) => {
      const caller = find(readApiKey(req));
      // Any cell refuses a request without a known key, and this one is there.
      const cell = caller === undefined ? own : cellOf(caller.id, plan);
      res.writeHead(204, { "x-cell": cell }).end();
    },
    close: () => close?.(),
  };
}

function cellOf(callerId: string, { cells, moved }: CellPlan): string {
  const cell = Object.hasOwn(moved, callerId) ? moved[callerId] : undefined;
  return cell ?? findCell(callerId, cells);
}

/** The file has changed, and this gateway or the one that the balancer asked has not read it yet. */
function refuse(): GatewayError {
  const message = "The request reached a gateway of another cell: try again. Nothing was sent or charged.";
  return new GatewayError("gateway_unavailable", message, { retryAfterSeconds: 2 });
}

/** As the gateway reads it. If they differed, the gateway would refuse the caller and charge nothing. */
function readApiKey({ headers }: IncomingMessage): string {
  const { authorization, "api-key": apiKey } = headers;
  return (authorization === undefined ? String(apiKey) : authorization.replace(/^bearer +/i, "")).trim();
}

const isName = (name: unknown): boolean => typeof name === "string" && name !== "";

/** @throws Error that says what is wrong with the content of the file */
export function checkPlan(value: unknown, own?: string): CellPlan {
  const { cells, moved = {} }: Partial<CellPlan> = typeof value === "object" && value !== null ? value : {};
  if (!Array.isArray(cells) || cells.length === 0 || !cells.every(isName))
    throw new Error('"cells" must be a list of names.');
  if (new Set(cells).size < cells.length) throw new Error('"cells" must not contain a name twice.');
  if (own !== undefined && !cells.includes(own)) throw new Error(`"cells" must contain ${own}.`);
  const isMap = typeof moved === "object" && moved !== null && !Array.isArray(moved);
  if (!isMap || !Object.values(moved).every((cell) => cells.includes(cell)))
    throw new Error('"moved" must map ids of callers to names of "cells".');
  return { cells, moved };
}
