import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseDictionary, parseItem, parseList, serializeList, Token } from "structured-headers";
import { describe, expect, it } from "vitest";
import { CALLER_HEADERS, jsonCall, SEEDREAM_BODY } from "../support/image-calls.js";
import { sendByFetch } from "../support/send-by-fetch.js";
import { SEEDREAM, startGateway } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { findFiles, ROOT } from "../support/workspace.js";
import { expectCounts } from "./results.js";

/** A case of httpwg's structured-field-tests. */
interface Vector {
  readonly name: string;
  /** The lines of the header. */
  readonly raw: readonly string[];
  readonly header_type: "dictionary" | "item" | "list";
  readonly expected?: unknown;
  readonly must_fail?: boolean;
  readonly can_fail?: boolean;
}

const VECTORS = findFiles("packages/conformance/fixtures/structured-fields/*.json").flatMap(
  (path): readonly Vector[] => JSON.parse(readFileSync(join(ROOT, path), "utf8")),
);

const PARSERS = { dictionary: parseDictionary, item: parseItem, list: parseList };

const textOf = ({ raw }: Vector): string => raw.join(", ");

/** What a parser makes of a vector, or `undefined` if it refuses it. */
function parse(vector: Vector): unknown {
  try {
    return PARSERS[vector.header_type](textOf(vector));
  } catch {
    return undefined;
  }
}

/** A value in the format of the vectors, without their types of strings: tokens are strings too. */
function simplify(value: unknown): unknown {
  if (value instanceof Map) return [...value].map(simplify);
  if (Array.isArray(value)) return value.map(simplify);
  if (value instanceof Token) return value.toString();
  // JSON has no −0.
  if (value === 0) return 0;
  // Byte sequences are not used by these headers.
  if (value instanceof ArrayBuffer) return "bytes";
  return value;
}

function simplifyExpected(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(simplifyExpected);
  if (typeof value !== "object" || value === null || !("value" in value)) return value;
  return Object.values(value).includes("binary") ? "bytes" : value.value;
}

const providers = useProviders();

/** Whether a host can pass it on: others are refused before a gateway sees them. */
function isHeaderValue(value: string): boolean {
  try {
    return new Headers({ prefer: value }).has("prefer");
  } catch {
    return false;
  }
}

/** A gateway with a task that has ended, which reads `Prefer: wait` whenever a client reads the task. */
async function openTask(): Promise<(prefer: string) => Promise<string | undefined>> {
  const { gateway } = startGateway(providers(), { tasks: {} });
  const submitted = await sendByFetch(gateway, jsonCall(SEEDREAM_BODY, { prefer: "respond-async" }));
  const path = submitted.headers["location"] ?? "";
  await sendByFetch(gateway, { method: "GET", path: `${path}?wait=30`, headers: CALLER_HEADERS });
  return async (prefer) => {
    const headers = { ...CALLER_HEADERS, prefer };
    const response = await sendByFetch(gateway, { method: "GET", path, headers });
    expect(response.status).toBe(200);
    return response.headers["preference-applied"];
  };
}

/** A vector as a part of `Prefer`: dictionaries and lists as they are, and an item as the value of an unknown preference. */
function asPreference(vector: Vector): string {
  return vector.header_type === "item" ? `unknown=${textOf(vector)}` : textOf(vector);
}

const isInvalid = (vector: Vector): boolean => vector.must_fail === true;
const USABLE = VECTORS.filter((vector) => isHeaderValue(asPreference(vector)));

it("the parser that reads our headers here passes the vectors", () => {
  const required = VECTORS.filter((vector) => parse(vector) !== undefined || vector.can_fail !== true);
  const parsed = required.map((vector) => ({ name: vector.name, value: simplify(parse(vector)) }));

  expect(parsed).toEqual(
    required.map((vector) => ({
      name: vector.name,
      value: isInvalid(vector) ? undefined : simplifyExpected(vector.expected),
    })),
  );
});

describe("Prefer", () => {
  it("is read behind every valid vector, and before every vector", async () => {
    const read = await openTask();
    for (const vector of USABLE) {
      const preference = asPreference(vector);
      const before = await read(`wait=7, ${preference}`);
      expect({ preference, before }).toEqual({ preference, before: "wait=7" });
      if (isInvalid(vector)) continue;
      const behind = await read(`${preference}, wait=7`);
      expect({ preference, behind }).toEqual({ preference, behind: "wait=7" });
    }
    await expectCounts("structured-fields", {
      vectors: VECTORS.length,
      "of them in `Prefer`": USABLE.length,
      "read behind it": USABLE.filter((vector) => !isInvalid(vector)).length,
    });
  });

  it("has the whole numbers of the vectors as its values, and ignores all else", async () => {
    const read = await openTask();
    for (const vector of USABLE.filter(({ header_type }) => header_type === "item")) {
      const text = textOf(vector);
      // The value of `wait` is written in digits (RFC 7240, section 4.3), as a token or as a string. A comma ends it.
      const digits = /^[ \t]*"?(\d{1,9})"?[ \t]*(?:[;,].*)?$/.exec(text)?.[1];
      const expected = digits === undefined ? undefined : `wait=${Math.min(Number(digits), 60)}`;
      expect({ text, applied: await read(`wait=${text}`) }).toEqual({ text, applied: expected });
    }
  });
});

const LARGEST = 999_999_999_999_999;

describe("RateLimit and RateLimit-Policy", () => {
  it.each([1, 2, 600, LARGEST, LARGEST + 1, Number.MAX_SAFE_INTEGER])(
    "of limits of %d are lists that a parser reads and writes to the same bytes",
    async (limit) => {
      const limits = { requestsPerMinute: limit, imagesPerMinute: limit, concurrent: limit };
      const { gateway } = startGateway(providers(), {
        limits,
        models: { [SEEDREAM]: { family: "seedream", limits } },
        channels: [{ id: "ark", family: "seedream", apiKey: "k", baseUrl: providers().server.arkBaseUrl }],
        billing: undefined,
      });
      const responses = [
        await sendByFetch(gateway, jsonCall(SEEDREAM_BODY)),
        await sendByFetch(gateway, jsonCall(SEEDREAM_BODY)),
      ];

      expect(responses.map(({ status }) => status)).toEqual([200, limit === 1 ? 429 : 200]);
      for (const { headers } of responses) {
        const policy = parseList(headers["ratelimit-policy"] ?? "");
        const state = parseList(headers["ratelimit"] ?? "");
        expect(serializeList(policy)).toBe(headers["ratelimit-policy"]);
        expect(serializeList(state)).toBe(headers["ratelimit"]);
        expect(policy.map(([name]) => name)).toEqual([
          "requests",
          "images",
          "model-requests",
          "model-images",
          "concurrent",
          "model-concurrent",
        ]);
        for (const [, parameters] of policy) expect(parameters.get("q")).toBe(Math.min(limit, LARGEST));
        for (const [name, parameters] of state) {
          expect(policy.map(([other]) => other)).toContain(name);
          expect(parameters.get("r")).toSatisfy(Number.isInteger);
          expect(parameters.get("t")).toSatisfy(Number.isInteger);
        }
      }
    },
  );
});
