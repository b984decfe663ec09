import type { Part, PartContext } from "../part.ts";
import { checkRun } from "./money/check-run.ts";
import { runScenario } from "./money/run-scenario.ts";
import { drawScenario, type Scenario, type ScenarioRequest } from "./money/scenario.ts";

/** Scenarios that run at once. Each one waits for the thread pool now and then. */
const CONCURRENT_SCENARIOS = 4;
/** Each family needs a channel, because a gateway does not start with a model that no channel serves. */
const FAMILIES = 2;

/** Random clients and providers in virtual time, compared with an independent model of the charges. */
export const moneyModel: Part<Scenario> = {
  name: "money-model",
  guarantees:
    "Compares the charges of each caller with a model that computes them from the images that the provider made " +
    "and reported. Clients disconnect, repeat and race; providers fail in every way; requests fail over between " +
    "channels and keys. No caller exceeds its budget, each image is charged at most once, and so is an " +
    "idempotency key with a known response. No hold and no slot is left, and nothing is sent after the client " +
    "has disconnected.",
  isParallel: true,
  async run(context) {
    const { random } = context;
    while (!context.isOver()) {
      const scenarios = Array.from({ length: CONCURRENT_SCENARIOS }, () => drawScenario(random));
      await Promise.all(scenarios.map((scenario) => tryScenario(scenario, context)));
    }
  },
  replay: tryScenario,
  *shrink(scenario) {
    yield* shorter(scenario.requests).map((requests) => ({ ...scenario, requests }));
    yield* scenario.requests.flatMap((request, index) =>
      simplerRequests(request).map((simpler) => ({
        ...scenario,
        requests: scenario.requests.with(index, simpler),
      })),
    );
    yield* shorter(scenario.channels)
      .filter((channels) => new Set(channels.map(({ family }) => family)).size === FAMILIES)
      .map((channels) => ({ ...scenario, channels }));
  },
};

async function tryScenario(scenario: Scenario, context: PartContext<Scenario>): Promise<void> {
  context.begin(scenario);
  const run = await runScenario(scenario);
  context.count("requests", run.results.length);
  context.count(
    "attempts",
    run.results.reduce((sum, { attempts }) => sum + attempts.length, 0),
  );
  context.count("scenarios");
  for (const { rule, seen } of await checkRun(run)) {
    await context.report({ rule, input: scenario, seen });
  }
}

/** A list without one of its halves, quarters, … or items. */
function shorter<T>(items: readonly T[]): T[][] {
  const lists: T[][] = [];
  for (let size = Math.ceil(items.length / 2); size >= 1; size = Math.floor(size / 2)) {
    if (size === items.length) continue;
    for (let from = 0; from < items.length; from += size) {
      lists.push([...items.slice(0, from), ...items.slice(from + size)]);
    }
  }
  return lists;
}

function simplerRequests(request: ScenarioRequest): ScenarioRequest[] {
  return [
    ...shorter(request.sends).map((sends) => ({ ...request, sends })),
    ...shorter(request.attempts).map((attempts) => ({ ...request, attempts })),
    ...(request.hasKey ? [{ ...request, hasKey: false }] : []),
  ];
}
