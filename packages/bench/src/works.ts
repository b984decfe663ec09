/** The measured works, in the order of the tables. */
export const WORKS = [
  { id: "small", title: "small JSON, 32 connections", concurrency: 32, requests: 6_000, warmUp: 30_000 },
  { id: "b64-4mb", title: "4 MB b64_json response, 8 at once", concurrency: 8, requests: 192, warmUp: 200 },
  { id: "b64-32mb", title: "32 MB b64_json response, 4 at once", concurrency: 4, requests: 16, warmUp: 32 },
  {
    id: "sse-small",
    title: "SSE, 100 events of 500 B, 16 at once",
    concurrency: 16,
    requests: 480,
    warmUp: 4_000,
  },
  {
    id: "sse-paced",
    title: "SSE, 50 events of 500 B, 2 ms apart, 64 at once",
    concurrency: 64,
    requests: 1_280,
    warmUp: 2_560,
  },
  {
    id: "sse-large",
    title: "SSE, 10 events of 1 MB b64, 4 at once",
    concurrency: 4,
    requests: 96,
    warmUp: 128,
  },
  {
    id: "edits",
    title: "multipart edit 3 × 10 MB to JSON with data URLs, 16 at once",
    concurrency: 16,
    requests: 16,
    warmUp: 16,
  },
  {
    id: "json-images",
    title: "JSON with data URLs of 3 × 4 MB, 8 at once",
    concurrency: 8,
    requests: 48,
    warmUp: 16,
  },
] as const satisfies readonly WorkOptions[];

interface WorkOptions {
  readonly id: string;
  readonly title: string;
  readonly concurrency: number;
  /** The maximum number of requests in a round. Its time is also limited. */
  readonly requests: number;
  /**
   * The maximum number of requests before the first round. V8 continues to compile during tens of thousands of small
   * ones.
   */
  readonly warmUp: number;
}

/** The id of a work, on the command line and in model names. */
export type WorkId = (typeof WORKS)[number]["id"];

/** A kind of request, and the number of requests in a round. */
export interface Work extends WorkOptions {
  readonly id: WorkId;
}

/** A response for which there is no work: streams that stay open until the upstream gets the command to continue. */
export type ResponseId = WorkId | "sse-held";

export function isWorkId(text: string): text is WorkId {
  return WORKS.some(({ id }) => id === text);
}
