import { createRandom } from "@calotype/conformance/fleet-simulation/create-random";
import { describe, expect, it } from "vitest";
import { judge } from "./money/judge.ts";
import { type Played, playScenario, type Sighting } from "./money/play.ts";
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

async function rulesBroken(change: (played: Played) => Played): Promise<readonly string[]> {
  const problems = await judge(change(await playScenario(SCENARIO)));
  return problems.map(({ rule }) => rule);
}

/** Ids are random. */
function withoutId(sighting: Sighting): Sighting {
  return { ...sighting, id: "" };
}

/** The first send, with a change. */
function withFirst(played: Played, change: Partial<Played["sightings"][number]>): Played {
  return {
    ...played,
    sightings: played.sightings.map((sighting, index) =>
      index === 0 ? { ...sighting, ...change } : sighting,
    ),
  };
}

describe("the money model", () => {
  it("sees a failover, a replay, and the charge of two images", async () => {
    const played = await playScenario(SCENARIO);

    expect(played.sightings.map(({ attempts }) => attempts.map(({ channel }) => channel))).toEqual([
      ["one", "two"],
      [],
    ]);
    expect(played.sightings[1]).toMatchObject({ status: 200, isReplay: true, seen: { images: 2 } });
    expect(played.records).toMatchObject([{ charge: "0.5", channel: "two" }]);
    expect(await judge(played)).toEqual([]);
  });

  it("plays a scenario the same way each time", async () => {
    const scenario = drawScenario(createRandom(7, "repeated"));
    const [one, other] = [await playScenario(scenario), await playScenario(scenario)];

    expect(other.sightings.map(withoutId)).toEqual(one.sightings.map(withoutId));
  });

  it.each<[rule: string, change: (played: Played) => Played]>([
    [
      "the charge is what the provider made and reported",
      (played) => ({ ...played, records: played.records.map((record) => ({ ...record, charge: "0.75" })) }),
    ],
    [
      "a request that reached a provider has one record, another none",
      (played) => ({ ...played, records: [] }),
    ],
    ["onUsage gets every record", (played) => ({ ...played, delivered: [] })],
    ["gateway.close() returns", (played) => ({ ...played, isClosed: false })],
    ["no attempt begins after the client has left", (played) => withFirst(played, { leftMs: 5 })],
    [
      "the client gets the images that came",
      (played) => withFirst(played, { seen: { images: 1, code: undefined } }),
    ],
    ["every response is a documented one", (played) => withFirst(played, { status: 500 })],
    [
      "nothing is sent again where an image may have been made",
      (played) => {
        const { attempts = [] } = played.sightings[0] ?? {};
        const [first, ...others] = attempts;
        const made = { does: "breaks", images: 2, afterMs: 10 } as const;
        return withFirst(played, { attempts: first ? [{ ...first, behaviour: made }, ...others] : [] });
      },
    ],
    [
      "an idempotency key makes images once",
      (played) => ({
        ...played,
        sightings: played.sightings.map((sighting) => ({
          ...sighting,
          attempts: played.sightings[0]?.attempts ?? [],
        })),
      }),
    ],
  ])("finds it where this does not hold: %s", async (rule, change) => {
    expect(await rulesBroken(change)).toContain(rule);
  });
});
