import { parseArgs } from "node:util";
import type { Effort } from "./measure-work.ts";
import { TARGET_KINDS } from "./target.ts";
import { isWorkId, WORKS, type WorkId } from "./works.ts";

/** The parsed command line. */
export interface BenchOptions {
  readonly isQuick: boolean;
  readonly works: readonly WorkId[];
  /** The targets to measure. `undefined`: all that are available. */
  readonly targets: readonly string[] | undefined;
  /** The folder of another checkout that is measured beside this one. */
  readonly against: string | undefined;
  readonly effort: Effort;
  /** Whether connections, callers, channels and open streams are measured too. */
  readonly withScenarios: boolean;
  /** Whether only the micro-benchmarks run. */
  readonly isMicro: boolean;
  /** The target to profile. Nothing else is measured. */
  readonly profile: string | undefined;
  /** The results are read from these files, separated by commas. Nothing is measured. */
  readonly from: string | undefined;
  readonly json: string | undefined;
  readonly chart: string | undefined;
  /** Whether the results are stored in `results`, from which the tests write the documents. */
  readonly isStored: boolean;
}

export const USAGE = `npm run bench -- [options]

  --quick            under two minutes: fewer rounds, no scenarios, Portkey only where it is installed already
  --only <works>     of ${WORKS.map(({ id }) => id).join(", ")}; no scenarios
  --targets <names>  of ${TARGET_KINDS.map(({ id }) => id).join(", ")}
  --against <folder> of another checkout that is built; exits with 1 if this one is more than 5 % slower
  --rounds <n>       default 5, with --quick 2
  --scenarios        only connections, callers, channels and open streams
  --micro            only the parts of the gateway, in one process
  --profile <name>   in which functions a target spends its time, for the works of --only
  --json <file>      writes the results
  --chart <file>     writes CPU per request as SVG
  --store            stores the results, from which the tests write the documents
  --from <files>     shows the results of earlier runs, together, and measures nothing
`;

/** @throws Error for an unknown argument */
export function readCommandLine(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string" },
      targets: { type: "string" },
      against: { type: "string" },
      rounds: { type: "string" },
      scenarios: { type: "boolean", default: false },
      micro: { type: "boolean", default: false },
      profile: { type: "string" },
      json: { type: "string" },
      chart: { type: "string" },
      store: { type: "boolean", default: false },
      from: { type: "string" },
    },
  });
  const { quick: isQuick } = values;
  const rounds = Number(values.rounds ?? (isQuick ? 2 : 5));
  if (!Number.isInteger(rounds) || rounds < 1)
    throw new Error("--rounds needs a whole number of at least 1.");
  return {
    isQuick,
    works: values.scenarios ? [] : readWorks(values.only),
    targets: readTargets(values.targets),
    against: values.against,
    effort: { rounds, roundSeconds: isQuick ? 0.25 : 2, warmUpSeconds: isQuick ? 0.25 : 8 },
    withScenarios: values.scenarios || (!isQuick && values.only === undefined),
    isMicro: values.micro,
    profile: values.profile,
    from: values.from,
    json: values.json,
    chart: values.chart,
    isStored: values.store,
  };
}

function readWorks(list: string | undefined): WorkId[] {
  if (list === undefined) return WORKS.map(({ id }) => id);
  return list.split(",").map((id) => {
    if (isWorkId(id)) return id;
    throw new Error(`There is no work ${id}.`);
  });
}

function readTargets(list: string | undefined): readonly string[] | undefined {
  const names = list?.split(",");
  const unknown = names?.find((name) => TARGET_KINDS.every(({ id }) => id !== name));
  if (unknown !== undefined) throw new Error(`There is no target ${unknown}.`);
  return names;
}
