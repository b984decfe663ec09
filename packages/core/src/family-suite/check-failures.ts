import { findDialect } from "../channels/channel.js";
import type { FailedResponse } from "../families/failure.js";
import type { UpstreamFailureKind } from "../types.js";
import { maySendAgain } from "../upstream/failure.js";
import type { JsonObject } from "../util/json.js";
import { require, requireSame } from "./expect.js";
import { createReplay } from "./replay.js";
import type { FamilyCheck, FamilySubject, RecordedFailure } from "./subject.js";

/** What a family must hold for each recorded error. */
export function* checkFailure(subject: FamilySubject, failure: RecordedFailure): Iterable<FamilyCheck> {
  const { status, kind } = failure;
  const isSentAgain = maySendAgain(kind, false);
  yield {
    name: `error ${status} (${kind}): ${isSentAgain ? "goes to another channel" : "is not sent again"}, and costs nothing`,
    async run() {
      const replay = createReplay(subject, { channels: 2, respond: () => toResponse(failure) });
      const [first] = subject.exchanges;
      require(first !== undefined, "A subject has at least one exchange.");
      const seen = await replay.send(first.request);
      await replay.close();
      requireSame(replay.calls.length, isSentAgain ? 2 : 1, "The kind says whether a request is sent again.");
      require(seen.status >= 400, "The client gets an error.", seen.status);
      requireSame(replay.records[0]?.charge, "0", "An error costs nothing.");
      requireSame(replay.records[0]?.images, 0, "An error has no image.");
    },
  };
}

/** Rules for errors without a recording, such as those of a proxy. */
export function* checkUnknownFailures({ family, dialect }: FamilySubject): Iterable<FamilyCheck> {
  const { toFailure } = {
    toFailure: (response: FailedResponse) => findDialect(family, dialect).toFailure(response),
  };
  const kindOf = (status: number, body: JsonObject | undefined): UpstreamFailureKind =>
    toFailure({ status, headers: { get: () => null }, body }).kind;
  yield {
    name: "unknown errors: have the meaning of their status",
    async run() {
      for (const body of BODIES) {
        for (const status of [401, 403])
          requireSame(kindOf(status, body), "credential", `${status} is our key or account.`);
        const kindOf429 = kindOf(429, body);
        require(kindOf429 === "rate" || kindOf429 === "quota", "429 is a limit.", kindOf429);
      }
    },
  };
  yield {
    name: "unknown errors: are not sent again if an image may have been made",
    async run() {
      for (const body of BODIES) {
        for (const status of [408, 500, 502, 504, 520, 524]) {
          requireSame(kindOf(status, body), "server", `After ${status} an image may have been made.`);
        }
      }
    },
  };
}

/** Bodies that no provider of the family sends. */
const BODIES: readonly (JsonObject | undefined)[] = [
  undefined,
  {},
  { error: null },
  { error: "text" },
  { error: { code: 7, message: null, type: [] } },
  { detail: [{ loc: ["body"], msg: "x", type: "y" }] },
  { code: "x-unknown-code", message: "x" },
];

function toResponse({ status, headers, body }: RecordedFailure): Response {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return new Response(text, { status, headers: { "content-type": "application/json", ...headers } });
}
