import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../util/json.js";
import type { UpstreamFailure } from "../failure.js";
import { toGeminiFailure } from "./failure.js";

const detail = (name: string, fields: JsonObject): JsonObject => ({
  "@type": `type.googleapis.com/google.rpc.${name}`,
  ...fields,
});
const quota = (...ids: readonly string[]): JsonObject =>
  detail("QuotaFailure", { violations: ids.map((quotaId) => ({ quotaId })) });
const delay = (retryDelay: unknown): JsonObject => detail("RetryInfo", { retryDelay });
const reason = (name: string): JsonObject => detail("ErrorInfo", { reason: name });

const PER_MINUTE = "GenerateRequestsPerMinutePerProjectPerModel";
const PER_DAY = "GenerateRequestsPerDayPerProjectPerModel-FreeTier";

type Case = readonly [
  status: number,
  code: string,
  details: readonly JsonObject[],
  expected: Partial<UpstreamFailure>,
];

const CASES: readonly Case[] = [
  [400, "INVALID_ARGUMENT", [], { kind: "content" }],
  [400, "INVALID_ARGUMENT", [reason("API_KEY_INVALID")], { kind: "credential" }],
  [400, "INVALID_ARGUMENT", [reason("SOMETHING")], { kind: "content" }],
  [400, "FAILED_PRECONDITION", [], { kind: "credential" }],
  [401, "UNAUTHENTICATED", [reason("ACCESS_TOKEN_EXPIRED")], { kind: "credential" }],
  [403, "PERMISSION_DENIED", [], { kind: "credential" }],
  [403, "PERMISSION_DENIED", [reason("CONSUMER_SUSPENDED")], { kind: "credential" }],
  [404, "NOT_FOUND", [], { kind: "model" }],
  [429, "RESOURCE_EXHAUSTED", [], { kind: "rate" }],
  [429, "RESOURCE_EXHAUSTED", [delay("34s")], { kind: "rate", retryAfterSeconds: 34 }],
  [429, "RESOURCE_EXHAUSTED", [delay("34.07s")], { kind: "rate", retryAfterSeconds: 35 }],
  [429, "RESOURCE_EXHAUSTED", [delay(34)], { kind: "rate" }],
  [
    429,
    "RESOURCE_EXHAUSTED",
    [quota(PER_MINUTE), delay("7s")],
    { kind: "rate", scope: "model", retryAfterSeconds: 7 },
  ],
  [429, "RESOURCE_EXHAUSTED", [quota("RequestsPerMinutePerProject")], { kind: "rate" }],
  [429, "RESOURCE_EXHAUSTED", [quota(PER_DAY), delay("7s")], { kind: "quota", scope: "model" }],
  [429, "RESOURCE_EXHAUSTED", [quota(PER_MINUTE, PER_DAY)], { kind: "quota", scope: "model" }],
  [429, "RESOURCE_EXHAUSTED", [quota("RequestsPerDayPerProject")], { kind: "quota" }],
  [500, "INTERNAL", [], { kind: "server" }],
  [503, "UNAVAILABLE", [delay("2s")], { kind: "overload", retryAfterSeconds: 2 }],
  [504, "DEADLINE_EXCEEDED", [], { kind: "server" }],
  [418, "SOMETHING_NEW", [], { kind: "content" }],
];

describe("an error of Google", () => {
  it.each(CASES)("%i %s %j is %j", (status, code, details, expected) => {
    const failure = toGeminiFailure(status, {
      error: { code: status, status: code, message: "No.", details },
    });
    const { kind, scope, retryAfterSeconds } = failure;
    expect({ kind, scope, retryAfterSeconds }).toEqual({
      scope: undefined,
      retryAfterSeconds: undefined,
      ...expected,
    });
    expect(failure).toMatchObject({ code, message: "No." });
  });

  it.each([
    undefined,
    {},
    { error: "x" },
    { error: { details: "x" } },
    { error: { details: [1, null, {}] } },
  ])("%j has the meaning of its status", (body) => {
    expect(toGeminiFailure(500, body).kind).toBe("server");
    expect(toGeminiFailure(429, body).kind).toBe("rate");
  });
});
