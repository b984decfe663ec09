import type { ImageResult } from "../../types.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import type { Dialect } from "../dialect.js";
import type { JobState, Submission } from "../job.js";
import { createCodeTable, readCost, readText } from "../shared.js";
import { OPENAI_CODES, readError } from "./failure.js";
import { createService, type Service } from "./service.js";

/** OpenAI's codes, and those of EvoLink's tasks (docs.evolink.ai, error codes). Some relays use a status as the code. */
const CODES = new Map([
  ...OPENAI_CODES,
  ...createCodeTable(
    [
      { kind: "content" },
      "400",
      "422",
      "image_dimension_mismatch",
      "image_processing_error",
      "invalid_parameters",
    ],
    [{ kind: "quota" }, "402", "insufficient_balance"],
    [{ kind: "rate" }, "429"],
  ),
]);

/**
 * Relays that take OpenAI's requests and respond with the id of a task. Sources: docs.apimart.ai (GPT-Image-2, task status) and
 * docs.evolink.ai (task detail), November 2026.
 */
export const RELAY_SERVICE: Service = {
  defaultPath: "/v1",
  delivers: ["url"],
  references: (images) => ({ image_urls: images }),
  drops: ["style", "user"],
  codes: CODES,
};

const PLAIN = createService(RELAY_SERVICE);

/** The response to a submission has the id of a task; that to a poll has its state, and in the end the links. */
export const RELAY: Partial<Dialect> = {
  ...PLAIN,
  reportsCost: true,
  responseShape: undefined,
  jobs: {
    readSubmission,
    poll: ({ id }) => ({ method: "GET", path: `/tasks/${encodeURIComponent(id)}` }),
    readPoll,
  },
  fromUpstream,
};

/** `{ "data": [{ "task_id" }] }`, or `{ "id" }`. A relay may have the image at once, and responds as OpenAI then. */
function readSubmission(body: JsonObject): Submission {
  if (fromUpstream(body).images.length > 0) return { done: true };
  const { data, id, task_id: taskId } = body;
  const [first]: readonly unknown[] = Array.isArray(data) ? data : [data];
  const inData = isJsonObject(first) ? readText(first["task_id"]) : undefined;
  return { job: { id: inData ?? readText(taskId) ?? readText(id) ?? "" } };
}

/** The task is in `data`, or is the body itself. */
const taskOf = (body: JsonObject): JsonObject => (isJsonObject(body["data"]) ? body["data"] : body);

const FAILED: ReadonlySet<unknown> = new Set(["failed", "cancelled", "canceled"]);

/** Any other state, such as `pending` or `processing`, is not the end. */
function readPoll(body: JsonObject): JobState {
  const task = taskOf(body);
  const { status } = task;
  if (status === "completed") return { state: "done" };
  if (!FAILED.has(status)) return { state: "pending" };
  const { code = "failed", message } = isJsonObject(task["error"]) ? readError(task) : {};
  const kind = CODES.get(code)?.kind ?? "server";
  return {
    state: "failed",
    failure: { kind, code, message: message ?? readText(task["error"]) ?? "The task failed." },
  };
}

/**
 * `{ "result": { "images": [{ "url": [link] }] }, "cost" }`, `{ "results": [link] }`, or OpenAI's `{ "data": [{ "url" }] }`. The
 * cost is in dollars.
 */
function fromUpstream(body: JsonObject): ImageResult {
  const task = taskOf(body);
  const cost = readCost(task["cost"]);
  const images = [findLinks(task["result"]), task["results"], findUrls(task["data"])]
    .flat()
    .map(readText)
    .filter((url) => url !== undefined)
    .map((url) => ({ url }));
  return {
    images,
    errors: [],
    fields: {},
    usage: { generated_images: images.length, ...(cost !== undefined && { cost_usd: cost }) },
  };
}

function findLinks(result: unknown): readonly unknown[] {
  return isJsonObject(result) ? findUrls(result["images"]) : [];
}

function findUrls(images: unknown): readonly unknown[] {
  const list: readonly unknown[] = Array.isArray(images) ? images : [];
  return list.flatMap((image) => (isJsonObject(image) ? image["url"] : []));
}
