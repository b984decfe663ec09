import { globSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type {
  createGateway,
  createMemoryAdmissionStore,
  createMemoryLedger,
  GatewayError,
} from "@calotype/core";
import type { Family } from "@calotype/core/families";
import type { TransportError } from "@calotype/core/testing";

/** What a scenario needs of one build of core. */
export interface Build {
  readonly createGateway: typeof createGateway;
  readonly createMemoryLedger: typeof createMemoryLedger;
  readonly createMemoryAdmissionStore: typeof createMemoryAdmissionStore;
  readonly GatewayError: typeof GatewayError;
  readonly TransportError: typeof TransportError;
  /** The families that are not built in: `openai` and `gemini`. */
  readonly families: readonly Family[];
}

type Core = Omit<Build, "TransportError" | "families">;

/**
 * Imports core from the `dist` of a checkout. Both builds are imported in this way, so that they differ only in their folder.
 *
 * @param checkout the root of a checkout that was built
 */
export async function loadBuild(checkout: string): Promise<Build> {
  const folder = join(checkout, "packages/core/dist");
  const load = (file: string): Promise<unknown> => import(pathToFileURL(join(folder, file)).href);
  // The modules have the types of this checkout: both builds have the same interface, or cannot be compared.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const [core, testing, { openai }, { gemini }] = (await Promise.all([
    load("index.js"),
    load("testing.js"),
    load("families/openai/index.js"),
    load("families/gemini/gemini.js"),
  ])) as [Core, Pick<Build, "TransportError">, { readonly openai: Family }, { readonly gemini: Family }];
  // A module that is loaded at its first use would take real time.
  await Promise.all(globSync("*.js", { cwd: folder }).map(load));
  return { ...core, ...testing, families: [openai, gemini] };
}
