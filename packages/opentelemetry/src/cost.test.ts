import { Session } from "node:inspector/promises";
import { expect, it } from "vitest";
import { createObservedGateway, registerSdk } from "./testing/setup.js";

/** What the gateway does for the observers of a request. */
const FUNCTIONS = [
  "GuardedCall",
  "GuardedAttempt",
  "mergeFields",
  "watchClient",
  "findSkipped",
  "toStartedAttempt",
  "toAttemptDetail",
];

/** Counts the calls of each of these functions of core while `run` runs. */
async function countCalls(run: () => Promise<void>): Promise<Readonly<Record<string, number>>> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await run();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  await session.post("Profiler.stopPreciseCoverage");
  session.disconnect();
  const called = result
    .filter(({ url }) => /\/core\/(?:dist|src)\//.test(url))
    .flatMap(({ functions }) => functions.map(({ functionName, ranges }) => ({ functionName, ranges })));
  return Object.fromEntries(
    FUNCTIONS.map((name) => {
      const counts = called.filter(({ functionName }) => functionName === name);
      return [name, counts.reduce((sum, { ranges: [range] }) => sum + (range?.count ?? 0), 0)];
    }),
  );
}

const sendTwo = (options: Parameters<typeof createObservedGateway>[1]) => async (): Promise<void> => {
  const { post } = createObservedGateway(undefined, options);
  expect((await post()).status).toBe(200);
  expect((await post({ model: "unknown" })).status).toBe(404);
};

it("without telemetry, and without an SDK, a request runs no code of it", async () => {
  const none = Object.fromEntries(FUNCTIONS.map((name) => [name, 0]));

  expect(await countCalls(sendTwo({ telemetry: undefined }))).toEqual(none);
  // Only the API.
  expect(await countCalls(sendTwo({}))).toEqual(none);
  registerSdk();
  const observed = await countCalls(sendTwo({}));
  expect(Object.values(observed).filter((count) => count === 0)).toEqual([]);
});
