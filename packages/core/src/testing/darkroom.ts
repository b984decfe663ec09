import type { Family } from "../families/family.js";
import type { JobProtocol, ProviderJob } from "../families/job.js";
import { readText } from "../families/shared.js";
import { countUpstreamCalls } from "../families/upstream-calls.js";
import type { Usage } from "../types.js";
import { isJsonObject, type JsonObject } from "../util/json.js";

/**
 * A family whose provider works with jobs: one image for each, and the result in the last poll. With the dialect `fetched`
 * the result is fetched, and a job can be cancelled. Its provider does not exist.
 *
 * - `POST /develop` with `{"prompt"}`: `{"id","cost","link"}`, or `{"refused":{"kind","why"}}`
 * - `GET /jobs/{id}`, or the `link`: `{"state","wait","pictures":[link],"why","kind","cost"}`
 * - `GET /jobs/{id}/result`: `{"pictures":[link],"cost"}`
 */
export const darkroom: Family = {
  name: "darkroom",
  defaultBaseUrl: "https://darkroom.test/v1",
  hosts: ["*.darkroom.test"],
  operations: new Set(["generate"]),
  authorize: (key) => ({ "x-key": key }),
  delivers: ["url"],
  reportsTokens: false,
  findCapabilities: () => ({ imagesPerCall: 1 }),
  normalize({ prompt, n, stream }, context) {
    const upstreamCalls = countUpstreamCalls({ n: typeof n === "number" ? n : 1 }, context);
    return {
      operation: context.operation,
      model: context.model,
      prompt: String(prompt),
      images: [],
      maxImages: upstreamCalls,
      ...(upstreamCalls > 1 && { upstreamCalls }),
      responseFormat: "url",
      stream: stream === true,
      upstreamFields: { prompt },
      ignored: [],
    };
  },
  toUpstream: ({ upstreamFields }) => ({ path: "/develop", body: { json: upstreamFields } }),
  fromUpstream({ pictures, cost }) {
    const images = (Array.isArray(pictures) ? pictures : []).map((url) => ({ url: String(url) }));
    return { images, errors: [], fields: {}, ...toUsage(cost) };
  },
  toFailure({ status, body }) {
    const kinds = { 401: "credential", 422: "content", 429: "rate", 503: "overload" } as const;
    const kind = Object.entries(kinds).find(([known]) => Number(known) === status)?.[1] ?? "server";
    return { kind, code: readText(body?.["why"]) };
  },
  jobs: createProtocol(),
  dialects: {
    fetched: {
      jobs: {
        ...createProtocol(),
        fetchResult: ({ id }) => ({ method: "GET", path: `/jobs/${id}/result` }),
        cancel: ({ id }) => ({ method: "DELETE", path: `/jobs/${id}` }),
      },
    },
  },
};

/** The same, polled ten times as often, for tests in real time. */
export const quickDarkroom: Family = { ...darkroom, jobs: { ...createProtocol(), pollSeconds: 0.1 } };

function createProtocol(): JobProtocol {
  return {
    readSubmission({ id, cost, link, refused }) {
      if (isJsonObject(refused)) return { failure: toFailure(refused) };
      return {
        job: { id: readText(id) ?? "", ...(link !== undefined && { data: { link } }), ...toUsage(cost) },
      };
    },
    poll: ({ id, data }: ProviderJob) => ({
      method: "GET",
      path: readText(data?.["link"]) ?? `/jobs/${id}`,
    }),
    readPoll({ state, wait, ...rest }) {
      if (state === "done") return { state };
      if (state !== "failed") {
        return { state: "pending", ...(typeof wait === "number" && { retryAfterSeconds: wait }) };
      }
      return { state, failure: toFailure(rest), ...toUsage(rest["cost"]) };
    },
  };
}

function toUsage(cost: unknown): { usage?: Usage } {
  return typeof cost === "string" ? { usage: { cost_usd: cost } } : {};
}

function toFailure({ kind, why }: JsonObject): { kind: "content" | "server" | "rate"; code: string } {
  return { kind: kind === "content" || kind === "rate" ? kind : "server", code: String(why) };
}
