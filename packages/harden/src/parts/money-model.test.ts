import { createRandom } from "@calotype/conformance/fleet-simulation/create-random";
import { describe, expect, it } from "vitest";
import { checkRun } from "./money/check-run.ts";
import { runScenario, type ScenarioRun, type SendResult } from "./money/run-scenario.ts";
import { drawScenario, type Scenario, type ScenarioRequest } from "./money/scenario.ts";

const REQUEST: ScenarioRequest = {
  name: "kite",
  caller: "shop",
  kind: "json",
  n: 2,
  hasKey: true,
  sends: [{ atMs: 0 }, { atMs: 60_000 }],
  attempts: [
    { does: "refuses", status: 503, afterMs: 10 },
    { does: "makes", images: 2, report: "full", afterMs: 1_000 },
  ],
};

const SCENARIO: Scenario = {
  seed: 1,
  pricing: "per-request",
  channels: [
    { id: "one", family: "seedream", keys: 1, priority: 1, retryUnsafe: false },
    { id: "two", family: "seedream", keys: 1, priority: 0, retryUnsafe: false },
    { id: "three", family: "qwen-image", keys: 1, priority: 0, retryUnsafe: false },
  ],
  callers: [{ id: "shop", group: "default", budget: "1", concurrent: 1 }],
  requests: [REQUEST],
};

async function rulesBroken(change: (run: ScenarioRun) => ScenarioRun): Promise<readonly string[]> {
  const problems = await checkRun(change(await runScenario(SCENARIO)));
  return problems.map(({ rule }) => rule);
}

/** Ids are random. */
function withoutId(result: SendResult): SendResult {
  return { ...result, id: "" };
}

/** The first send, with a change. */
function withFirst(run: ScenarioRun, change: Partial<ScenarioRun["results"][number]>): ScenarioRun {
  return {
    ...run,
    results: run.results.map((result, index) => (index === 0 ? { ...result, ...change } : result)),
  };
}

describe("the money model", () => {
  it("sees a failover, a replay, and the charge of two images", async () => {
    const run = await runScenario(SCENARIO);

    expect(run.results.map(({ attempts }) => attempts.map(({ channel }) => channel))).toEqual([
      ["one", "two"],
      [],
    ]);
    expect(run.results[1]).toMatchObject({ status: 200, isReplay: true, seen: { images: 2 } });
    expect(run.records).toMatchObject([{ charge: "0.5", channel: "two" }]);
    expect(await checkRun(run)).toEqual([]);
  });

  it("plays a scenario the same way each time", async () => {
    const scenario = drawScenario(createRandom(7, "repeated"));
    const [one, other] = [await runScenario(scenario), await runScenario(scenario)];

    expect(other.results.map(withoutId)).toEqual(one.results.map(withoutId));
  });

  it.each<[rule: string, change: (run: ScenarioRun) => ScenarioRun]>([
    [
      "the charge is what the provider made and reported",
      (run) => ({ ...run, records: run.records.map((record) => ({ ...record, charge: "0.75" })) }),
    ],
    ["a request that reached a provider has one record, another none", (run) => ({ ...run, records: [] })],
    ["onUsage gets every record", (run) => ({ ...run, delivered: [] })],
    ["gateway.close() returns", (run) => ({ ...run, isClosed: false })],
    ["no attempt begins after the client has left", (run) => withFirst(run, { leftMs: 5 })],
    [
      "the client gets the images of the provider",
      (run) => withFirst(run, { seen: { images: 1, code: undefined } }),
    ],
    ["every response is a documented one", (run) => withFirst(run, { status: 500 })],
    [
      "nothing is sent again if an image may have been made",
      (run) => {
        const { attempts = [] } = run.results[0] ?? {};
        const [first, ...others] = attempts;
        const made = { does: "breaks", images: 2, afterMs: 10 } as const;
        return withFirst(run, { attempts: first ? [{ ...first, behaviour: made }, ...others] : [] });
      },
    ],
    [
      "an idempotency key makes images once",
      (run) => ({
        ...run,
        results: run.results.map((result) => ({
          ...result,
          attempts: run.results[0]?.attempts ?? [],
        })),
      }),
    ],
  ])("finds it where this does not hold: %s", async (rule, change) => {
    expect(await rulesBroken(change)).toContain(rule);
  });
});
