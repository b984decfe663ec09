import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { SettledRecord, UsageRecord } from "@calotype/core/billing";
import { createEmulator, type RecordedRequest } from "@calotype/emulator";
import { readRecords } from "../ledger-suite/read-ledger.ts";
import { type ServerProcess, spawnServer } from "../support/spawn-server.ts";
import { JOB_SERVICES, type JobPlan, type JobService, openPlannedLedger } from "./job-server.ts";
import { toProblems } from "./open-task-site.ts";
import { createRandom } from "./seeded-random.ts";

const PROGRAM = new URL("job-server.ts", import.meta.url);
const CALLER_KEY = "caller-canary-8c33f0";
/** The price of an image. */
const CENTS = 10;
/** Further than a lease, so that a server continues at once what an earlier one left. */
const LEASE_MS = 60_000;
const PATIENCE_MS = 20_000;

/** Some kills on one ledger. The seed decides the requests and the moments, but not what a server does then. */
export interface PollerRound {
  readonly seed: number;
  readonly kills: number;
}

export interface PollerOutcome {
  readonly problems: readonly string[];
  /** How many jobs the providers accepted, and how many of them a gateway polled. */
  readonly submitted: number;
  readonly polled: number;
}

/** What a client asked for. Each has a prompt of its own. */
interface Wish {
  readonly service: JobService;
  readonly n: number;
  readonly isTask: boolean;
}

/**
 * Kills servers at random moments while they submit jobs to each service and poll them, and lets a last one end everything.
 */
export async function killPollers({ seed, kills }: PollerRound): Promise<PollerOutcome> {
  const random = createRandom(seed);
  const emulator = createEmulator({ images: "tiny", millisecondsPerImage: 250, seed });
  const provider = await emulator.listen();
  const folder = mkdtempSync(join(tmpdir(), "calotype-pollers-"));
  const requests = new Set<RecordedRequest>();
  const wishes = new Map<string, Wish>();
  const errors: string[] = [];
  const plan = (starts: number): JobPlan => ({
    ledger: { aheadMs: starts * LEASE_MS, path: join(folder, "ledger.db") },
    baseUrl: provider.baseUrls,
    callerKey: CALLER_KEY,
  });
  let next = spawnServer<JobPlan>(PROGRAM);
  try {
    for (let kill = 0; kill < kills; kill++) {
      const server = await next.start(plan(kill));
      next = spawnServer<JobPlan>(PROGRAM); // It loads its code meanwhile.
      const before = emulator.requests.length;
      const sent = askAll(server, wishes, random);
      // Most kills come after a provider was called, also on a busy machine.
      if (random() < 0.8) await waitFor(async () => emulator.requests.length > before);
      await sleep(random() * 500);
      await server.kill();
      await sent;
      errors.push(...toProblems(server));
      for (const request of emulator.requests) requests.add(request);
    }
    const last = await next.start(plan(kills));
    const ledger = openPlannedLedger(plan(kills).ledger);
    const isEnded = await waitFor(async () => (await ledger.balance("tester")).held === "0");
    errors.push(...toProblems(last));
    for (const request of emulator.requests) requests.add(request);
    const records = await readRecords(ledger);
    await ledger.close();
    const facts = { wishes, records, ...readRequests([...requests]) };
    return {
      problems: [...errors, ...(isEnded ? [] : ["A hold is left"]), ...findPollerProblems(facts)],
      submitted: facts.submissions.length,
      polled: facts.polled.size,
    };
  } finally {
    await next.kill();
    await provider.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One request for each service, some of them as tasks, and some for two images. Most get no response. */
async function askAll(
  { url }: ServerProcess,
  wishes: Map<string, Wish>,
  random: () => number,
): Promise<void> {
  await Promise.allSettled(
    JOB_SERVICES.map(async (service) => {
      const wish = { service, n: random() < 0.5 ? 1 : 2, isTask: random() < 0.4 };
      const prompt = `wish ${wishes.size}`;
      wishes.set(prompt, wish);
      await sleep(random() * 100);
      const response = await fetch(`${url}/v1/images/generations`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${CALLER_KEY}`,
          "content-type": "application/json",
          ...(wish.isTask && { prefer: "respond-async" }),
        },
        body: JSON.stringify({ model: service, prompt, n: wish.n }),
      });
      await response.text();
    }),
  );
}

async function waitFor(isDone: () => Promise<boolean>): Promise<boolean> {
  const deadline = performance.now() + PATIENCE_MS;
  while (performance.now() < deadline) {
    if (await isDone()) return true;
    await sleep(50);
  }
  return false;
}

interface ProviderFacts {
  /** The prompts of the jobs that were submitted. */
  readonly submissions: readonly string[];
  /** The ids of the jobs that were polled. */
  readonly polled: ReadonlySet<string>;
}

const UUID = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/;

const isPost = ({ method }: RecordedRequest): boolean => method === "POST";

function readRequests(requests: readonly RecordedRequest[]): ProviderFacts {
  return {
    submissions: requests.filter(isPost).map(({ bodyText }) => /wish \d+/.exec(bodyText)?.[0] ?? "none"),
    polled: new Set(
      requests.filter((request) => !isPost(request)).flatMap(({ url }) => UUID.exec(url) ?? []),
    ),
  };
}

interface PollerFacts extends ProviderFacts {
  readonly wishes: ReadonlyMap<string, Wish>;
  readonly records: readonly UsageRecord[];
}

/** Returns what is wrong with the jobs and the records: something was sent twice, lost, or charged twice. */
function findPollerProblems({ wishes, records, submissions, polled }: PollerFacts): string[] {
  const settled = records.filter((record) => record.state === "settled");
  const ids = settled.flatMap(idsOfJobs);
  const known = new Set(ids);
  const images = settled.reduce((sum, record) => sum + record.images, 0);
  const missing = submissions.length - known.size;
  const ofUnknown = records.reduce((sum, record) => sum + countUnknown(record), 0);
  return [
    ...[...Map.groupBy(submissions, (prompt) => prompt)].flatMap(([prompt, sent]) => {
      const wish = wishes.get(prompt);
      const isTwice = sent.length > countCalls(wish);
      return isTwice ? [`A request was sent twice: ${JSON.stringify({ prompt, wish })}`] : [];
    }),
    ...(known.size < ids.length ? [`A job is in two records: ${JSON.stringify(ids)}`] : []),
    ...[...polled].flatMap((id) =>
      known.has(id) ? [] : [`A job that was polled is in no settled record: ${id}`],
    ),
    ...(images < known.size ? [`A job that ended has no image: ${images} of ${known.size} jobs`] : []),
    // A submission whose response was not stored belongs to a request that is charged as it was held.
    ...(missing > ofUnknown ? [`A job was lost: ${missing} jobs, ${ofUnknown} images are unknown`] : []),
    ...records.flatMap((record) => (isCharged(record) ? [] : [`A wrong charge: ${JSON.stringify(record)}`])),
  ];
}

function idsOfJobs({ upstreamRequestId, upstreamRequestIds = [] }: SettledRecord): readonly string[] {
  if (upstreamRequestIds.length > 0) return upstreamRequestIds;
  return upstreamRequestId === undefined ? [] : [upstreamRequestId];
}

/** How many jobs a request takes. */
function countCalls(wish: Wish | undefined): number {
  if (wish === undefined) return 0;
  return wish.service === "bfl" || wish.service === "replicate" ? wish.n : 1;
}

/** True if it is not known what became of the request, or of one of its calls. */
function isUnknown(record: UsageRecord): boolean {
  return (
    record.state === "unresolved" || (record.state === "settled" && record.priceBasis?.chargesHold === true)
  );
}

const toCents = (amount: string | null | undefined): number => Math.round(Number(amount ?? 0) * 100);

/** For how many images of a record it is not known whether they were made. */
function countUnknown(record: UsageRecord): number {
  return isUnknown(record) ? toCents(record.held) / CENTS - record.images : 0;
}

/** What was made is charged, and what is unknown as it was held. */
function isCharged(record: UsageRecord): boolean {
  const expected = isUnknown(record) ? toCents(record.held) : record.images * CENTS;
  return toCents(record.charge) === (record.state === "released" ? 0 : expected);
}
