import { type Family, seedream } from "@calotype/core/families";

/** Seedream's wire format, by a provider that works with jobs. The result is in the last response about the job. */
export const JOB_FAMILY: Family = {
  ...seedream,
  name: "job",
  jobs: {
    readSubmission: ({ job_id: id }) => ({ job: { id: typeof id === "string" ? id : "" } }),
    poll: ({ id }) => ({ method: "GET", path: `/jobs/${id}` }),
    readPoll: ({ status, wait, kind, code }) => {
      if (status === "pending") {
        return { state: "pending", ...(typeof wait === "number" && { retryAfterSeconds: wait }) };
      }
      if (status !== "failed") return { state: "done" };
      const known = kind === "content" || kind === "rate" ? kind : "server";
      return { state: "failed", failure: { kind: known, code: String(code), message: "No." } };
    },
    pollSeconds: 0.1,
  },
};
