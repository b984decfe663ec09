import { findNginxObstacle, startNginx } from "./external/nginx.ts";
import { findPortkeyObstacle, startPortkey } from "./external/portkey.ts";
import { startChild } from "./system/child.ts";
import { scriptOf } from "./system/scripts.ts";
import { type TargetOptions, toArguments } from "./targets/target-options.ts";
import type { WorkId } from "./works.ts";

/** The options for the start of a target. */
export interface StartContext extends TargetOptions {
  readonly core: number | undefined;
  /** Arguments of Node, before the script. */
  readonly nodeArguments?: readonly string[] | undefined;
}

/** A running gateway. */
export interface Target {
  readonly pid: number;
  readonly origin: string;
  /** Headers that its clients must send in addition. */
  readonly headers: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** A gateway that can be measured. */
export interface TargetKind {
  readonly id: string;
  readonly title: string;
  /** Default: all. */
  readonly works: readonly WorkId[] | undefined;
  /** Returns the reason why it cannot take part, if there is one. */
  findObstacle(mayInstall: boolean): string | undefined;
  start(context: StartContext): Promise<Target>;
}

const RESPONSES: readonly WorkId[] = ["small", "b64-4mb", "b64-32mb", "sse-small", "sse-paced", "sse-large"];

/** The target that others are compared with. */
export const REFERENCE = "minimal";
/** The gateway of this checkout. */
export const OURS = "calotype-node";

/** All targets, in the order of the tables. */
export const TARGET_KINDS: readonly TargetKind[] = [
  { id: "nginx", title: "nginx", works: RESPONSES, findObstacle: findNginxObstacle, start: startNginx },
  ours("pipe", "bare Node pipe (undici)", RESPONSES),
  ours(REFERENCE, "minimal gateway by hand"),
  ours("naive", "naive edits by hand", ["edits"]),
  ours(OURS, "calotype on node"),
  ours("calotype-otel-api", "calotype with OpenTelemetry, no SDK", ["small"]),
  ours("calotype-otel-sdk", "calotype with OpenTelemetry's SDK", ["small"]),
  ours("calotype-express", "calotype on Express"),
  ours("bare-node", "bare node server", ["small"]),
  ours("bare-express", "bare Express server", ["small"]),
  portkey("portkey", "Portkey 1.15", true),
  portkey("portkey-no-log", "Portkey 1.15, log off", false),
];

/** The program of {@link OURS} with the packages of another checkout, which `writeScripts` must have got. */
export const OTHER_KIND: TargetKind = {
  ...ours(OURS, "calotype of the other checkout", undefined, "against/targets"),
  id: "calotype-other",
};

function ours(id: string, title: string, works?: readonly WorkId[], folder = "targets"): TargetKind {
  return {
    id,
    title,
    works,
    findObstacle: () => undefined,
    async start({ core, nodeArguments = [], ...options }) {
      const script = scriptOf(`${folder}/${id}`);
      const child = startChild([process.execPath, ...nodeArguments, script, ...toArguments(options)], {
        core,
      });
      const port = await child.listening();
      return { pid: child.pid, origin: `http://127.0.0.1:${port}`, headers: {}, stop: () => child.stop() };
    },
  };
}

function portkey(id: string, title: string, withLog: boolean): TargetKind {
  return {
    id,
    title,
    works: undefined,
    findObstacle: findPortkeyObstacle,
    start: (context) => startPortkey({ ...context, withLog }),
  };
}
