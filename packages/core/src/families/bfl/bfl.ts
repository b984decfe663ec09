import type { ImageResult, Usage } from "../../types.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import type { FailedResponse, UpstreamFailure } from "../failure.js";
import type { Family } from "../family.js";
import { normalizeJobFields } from "../fields/normalize-fields.js";
import type { JobState, Submission } from "../job.js";
import {
  createRowFinder,
  failureKindOfStatus,
  listModelNames,
  readCost,
  readDetail,
  readText,
} from "../shared.js";
import { raiseSeed } from "../upstream-calls.js";
import { BFL_MODELS } from "./models.js";
import { toBfl } from "./request.js";

/**
 * The FLUX models of Black Forest Labs, on their own API. A request becomes a job: the gateway polls it, and continues it
 * after a restart.
 *
 * @example
 * ```ts
 * import { createGateway } from "@calotype/core";
 * import { bfl } from "@calotype/core/families/bfl";
 *
 * const gateway = createGateway({
 *   families: [bfl],
 *   models: { "flux-2-pro": { family: "bfl" } },
 *   channels: [{ id: "bfl", family: "bfl", apiKey: process.env.BFL_API_KEY }],
 *   callers: [{ id: "web-shop", key: process.env.CALOTYPE_API_KEY }],
 * });
 * ```
 */
export const bfl: Family = {
  name: "bfl",
  defaultBaseUrl: "https://api.bfl.ai/v1",
  // The URL of a job may be on a regional host.
  hosts: ["*.bfl.ai"],
  operations: new Set(["generate", "edit"]),
  authorize: (apiKey) => ({ "x-key": apiKey }),
  delivers: ["url"],
  reportsTokens: false,
  reportsCost: true,
  takesImageBytes: true,
  fields: {
    n: "number",
    seed: "number",
    steps: "number",
    guidance: "number",
    safety_tolerance: "number",
    stream: "boolean",
    grounding: "boolean",
    prompt_upsampling: "boolean",
    raw: "boolean",
    mask: "image",
  },
  modelNames: listModelNames(BFL_MODELS),
  findCapabilities: createRowFinder(BFL_MODELS, { toRowName: (name) => name, buildDate: /-preview$/ }),
  normalize: normalizeJobFields,
  raiseSeed,
  toUpstream: toBfl,
  jobs: {
    readSubmission,
    poll({ id, data }) {
      const url = readText(data?.["url"]);
      return {
        method: "GET",
        ...(url === undefined ? { path: "/get_result", query: { id } } : { path: url }),
      };
    },
    readPoll,
    pollSeconds: 0.5,
  },
  fromUpstream,
  toFailure,
};

/** `{ "id", "polling_url", "cost" }`. The cost is in cents, and known before the image is made. */
function readSubmission({ id, polling_url: url, cost }: JsonObject): Submission {
  return {
    job: {
      id: readText(id) ?? "",
      ...(readText(url) !== undefined && { data: { url } }),
      usage: readCents(cost),
    },
  };
}

function readCents(cents: unknown): Usage | undefined {
  const cost = readCost(cents, 2);
  return cost === undefined ? undefined : { cost_usd: cost };
}

/**
 * The states without an image (docs.bfl.ai, errors). Any other one, such as `Pending`, is not the end: a job that makes an
 * image must not be given up because its state has a new name.
 */
const ENDS: Readonly<Record<string, UpstreamFailure["kind"]>> = {
  "Request Moderated": "content",
  "Content Moderated": "content",
  Error: "server",
  Failed: "server",
  "Task not found": "server",
};

/** `{ "status", "result", "details", "cost" }`, always with status 200. The state may be in `state`. */
function readPoll(body: JsonObject): JobState {
  const state = readText(body["status"]) ?? readText(body["state"]) ?? "";
  if (state === "Ready") return { state: "done" };
  const kind = Object.hasOwn(ENDS, state) ? ENDS[state] : undefined;
  if (kind === undefined) return { state: "pending" };
  const { details, cost } = body;
  const reason = isJsonObject(details) ? `: ${JSON.stringify(details)}` : "";
  return {
    state: "failed",
    failure: { kind, code: state, message: `${state}${reason}` },
    usage: readCents(cost),
  };
}

/** The last response to a poll: `{ "result": { "sample": link } }`. Its `cost`, if any, is the final one. */
function fromUpstream({ result, cost }: JsonObject): ImageResult {
  const url = isJsonObject(result) ? readText(result["sample"]) : undefined;
  const images = url === undefined ? [] : [{ url }];
  return {
    images,
    errors: [],
    fields: {},
    usage: { generated_images: images.length, ...readCents(cost) },
  };
}

/** `{ "detail": string | [{ "msg" }] }`. */
function toFailure({ status, body = {} }: FailedResponse): UpstreamFailure {
  return { kind: failureKindOfStatus(status), ...readDetail(body) };
}
