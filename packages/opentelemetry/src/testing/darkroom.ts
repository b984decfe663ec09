import type { Family } from "@calotype/core/families";

/** A family whose provider works with jobs, polled often. Its provider does not exist. */
export const darkroom: Family = {
  name: "darkroom",
  defaultBaseUrl: "https://darkroom.test/v1",
  operations: new Set(["generate"]),
  authorize: (key) => ({ "x-key": key }),
  delivers: ["url"],
  reportsTokens: false,
  findCapabilities: () => ({ imagesPerCall: 1 }),
  normalize: ({ prompt }, { operation, model }) => ({
    operation,
    model,
    prompt: String(prompt),
    images: [],
    maxImages: 1,
    responseFormat: "url",
    stream: false,
    upstreamFields: { prompt },
    ignored: [],
  }),
  toUpstream: ({ upstreamFields }) => ({ path: "/develop", body: { json: upstreamFields } }),
  fromUpstream: ({ picture }) => ({ images: [{ url: String(picture) }], errors: [], fields: {} }),
  toFailure: () => ({ kind: "server" }),
  jobs: {
    pollSeconds: 0.05,
    readSubmission: ({ id }) => ({ job: { id: String(id) } }),
    poll: ({ id }) => ({ method: "GET", path: `/jobs/${id}` }),
    readPoll: ({ picture }) => ({ state: picture === undefined ? "pending" : "done" }),
  },
};
