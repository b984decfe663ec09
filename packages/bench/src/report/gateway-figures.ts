import { readFileSync } from "node:fs";
import { medianFor, type Results } from "../results.ts";
import { medianOf } from "../statistics.ts";
import { pathOf } from "../stored-run.ts";
import { OURS } from "../target.ts";
import type { WorkId } from "../works.ts";
import { type Figures, formatTime } from "./format.ts";
import { renderMarkdown } from "./render-tables.ts";
import { toTables } from "./tables.ts";

/** What a request costs the gateway. */
export interface GatewayCosts {
  /** CPU time of a request, in milliseconds. */
  readonly cpuMs: Readonly<Record<"links" | "base64" | "edit", number>>;
  /** The memory of an open request, in bytes. */
  readonly openBytes: number;
}

/** The number of streams of the scenario `streams`. */
const STREAMS = 5_000;

/** Reads the stored run of the bench. */
export function readGatewayRun(): Results {
  const results: Results = JSON.parse(readFileSync(pathOf("gateway"), "utf8"));
  return results;
}

/** Reads the costs from a run of the bench. */
export function readCosts(results: Results): GatewayCosts {
  const cpuOf = (id: WorkId): number =>
    medianFor(
      results.works.find(({ work }) => work === id),
      OURS,
      "cpuMs",
    );
  const streams = results.scenarios.find(({ id }) => id === "streams");
  return {
    cpuMs: { links: cpuOf("small"), base64: cpuOf("b64-4mb"), edit: cpuOf("edits") },
    openBytes: medianOf(streams?.other.values ?? []) / STREAMS,
  };
}

/** The figures of a run of the bench: all tables, and the cost of a small request. */
export function createGatewayFigures(results: Results): Figures {
  const { date, command, node, cores, isPinned, rounds, skipped } = results;
  const machine = `${cores} cores${isPinned ? ", the gateway alone on one of them" : ", not pinned"}`;
  return {
    gateway: [
      `Measured on ${date.slice(0, 10)} with \`${command}\`: Node ${node}, ${machine}, medians of ${rounds} rounds.`,
      "",
      ...skipped.map(({ target, why }) => `Without ${target}: ${why}.\n`),
      ...toTables(results).map(renderMarkdown),
    ].join("\n"),
    "gateway-cpu": formatTime(readCosts(results).cpuMs.links),
  };
}
