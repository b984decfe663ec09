import { expect, it } from "vitest";
import { Commit } from "./commit.js";
import type { Hold, HoldEnd } from "./hold.js";

const SENT_TO = { channel: "ark", upstreamModel: "m", attempts: [] };
const MADE = { status: 200, images: 1 };

function create() {
  const ends: string[] = [];
  const end = async (state: HoldEnd["state"]): Promise<HoldEnd> => {
    ends.push(state);
    return { state, isNothingMade: state === "released" };
  };
  const hold: Hold = {
    settle: () => end("settled"),
    release: () => end("released"),
    abandon: () => void ends.push("unresolved"),
    ended: Promise.resolve({ state: "settled", isNothingMade: false }),
    end: undefined,
    isAbandoned: false,
    record: undefined,
  };
  return { commit: new Commit(hold), ends };
}

it.each<[string, (commit: Commit) => unknown, string]>([
  ["a charge", (commit) => commit.run(SENT_TO, MADE), "settled"],
  [
    "a call that reached no provider",
    (commit) => commit.run(undefined, { status: 503, images: 0 }),
    "released",
  ],
  ["a call that was not sent", (commit) => commit.release(), "released"],
  ["a call that is given up", (commit) => commit.giveUp(), "unresolved"],
])("%s ends the hold, and nothing can end it again", async (_what, run, state) => {
  const { commit, ends } = create();
  expect(commit.hasRun).toBe(false);
  await run(commit);
  expect(commit.hasRun).toBe(true);
  expect(() => commit.run(SENT_TO, MADE)).toThrow("A call is charged or released once.");
  expect(() => commit.release()).toThrow("A call is charged or released once.");
  expect(ends).toEqual([state]);
});
