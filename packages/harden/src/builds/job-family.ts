import type { Family } from "@calotype/core/families";

/** The model of {@link jobFamily}. */
export const JOB_MODEL = "film";

/**
 * A family whose provider works with jobs, because no built-in family does: a request that is cut off after its submission is
 * continued by the next gateway. `POST /jobs` responds with `{"id"}`, `GET /jobs/{id}` with `{"state","images":[link]}`.
 */
export const jobFamily: Family = {
  name: "jobs",
  defaultBaseUrl: "https://jobs.example",
  operations: new Set(["generate"]),
  authorize: (key) => ({ "x-key": key }),
  delivers: ["url"],
  reportsTokens: false,
  findCapabilities: () => ({ imagesPerCall: 1 }),
  normalize({ prompt, n, stream }, { operation, model }) {
    const images = typeof n === "number" && n > 1 ? n : 1;
    return {
      operation,
      model,
      prompt: String(prompt),
      images: [],
      maxImages: images,
      ...(images > 1 && { upstreamCalls: images }),
      responseFormat: "url",
      stream: stream === true,
      upstreamFields: { prompt },
      ignored: [],
    };
  },
  toUpstream: ({ upstreamFields }) => ({ path: "/jobs", body: { json: upstreamFields } }),
  fromUpstream: ({ images }) => ({
    images: (Array.isArray(images) ? images : []).map((url) => ({ url: String(url) })),
    errors: [],
    fields: {},
  }),
  toFailure: ({ status }) => ({ kind: status === 429 ? "rate" : status === 400 ? "content" : "server" }),
  // The names of older versions, because the other build may be one.
  tasks: {
    readSubmission: ({ id }) => ({ task: { id: String(id) } }),
    poll: ({ id }) => ({ method: "GET", path: `/jobs/${id}` }),
    readPoll({ state }) {
      if (state === "done") return { state };
      return state === "failed"
        ? { state, failure: { kind: "content", code: "no_swans" } }
        : { state: "pending" };
    },
  },
};
