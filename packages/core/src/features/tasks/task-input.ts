import type { FoundCaller } from "../../auth/authenticate.js";
import type { RequestBounds } from "../../billing/charge.js";
import type { PriceTerms } from "../../billing/pricing.js";
import type { Attribution } from "../../request/attribution.js";
import type { Endpoint } from "../../request/route.js";
import { isJsonObject } from "../../util/json.js";

/** What a worker needs to run a task, as it is kept in the task store. Plain data. */
export interface TaskInput {
  /** The format of this object. A worker refuses a format that it does not know. */
  readonly version: 1;
  readonly endpoint: Exclude<Endpoint, { operation: "native" }>;
  /** When the submission arrived, in milliseconds since 1970. */
  readonly receivedAt: number;
  /** The caller at the time of the submission. */
  readonly caller: FoundCaller;
  readonly group: string;
  /** The price at the time of the submission. Absent: the gateway had no `billing`. */
  readonly price?: PriceTerms | undefined;
  /** What the hold was computed from. */
  readonly bounds: RequestBounds;
  /** The end user and the tags of the submission. */
  readonly attribution?: Attribution | undefined;
  /** The URL of the gateway in links to stored images. */
  readonly linkBase: string;
  /** True if the fields came in a form. */
  readonly isForm: boolean;
  readonly body: TaskBody;
  /** Links the run of the task to its submission, for telemetry: a string of at most 512 characters. */
  readonly trace?: string | undefined;
}

/** The fields of the request as JSON, with files as data URLs: here, or in the store of results. */
export type TaskBody =
  | { readonly kind: "inline"; readonly json: string }
  | { readonly kind: "stored"; readonly id: string; readonly byteLength: number };

const VERSION = 1;

/** Writes an input for the task store. Only known fields of the caller are kept: the operator's object may have others. */
export function writeTaskInput({ caller, ...input }: Omit<TaskInput, "version">): string {
  const { id, keyHint, group, models, client, responseFormat, streamFormat, sizes, limits } = caller;
  const kept: FoundCaller = {
    id,
    keyHint,
    group,
    models,
    client,
    responseFormat,
    streamFormat,
    sizes,
    limits,
  };
  return JSON.stringify({ version: VERSION, ...input, caller: kept } satisfies TaskInput);
}

/**
 * Reads what {@link writeTaskInput} wrote.
 *
 * @throws TypeError if it was written by a newer version, or is damaged
 */
export function readTaskInput(json: string): TaskInput {
  const value: unknown = JSON.parse(json);
  if (isTaskInput(value)) return value;
  const version = isJsonObject(value) ? value["version"] : undefined;
  if (typeof version !== "number" || version === VERSION)
    throw new TypeError("The input of a task is damaged.");
  throw new TypeError(`The input of a task has the format ${version}; this gateway reads ${VERSION}.`);
}

/** Whether {@link writeTaskInput} wrote this value. What is inside of its members is not checked again. */
function isTaskInput(value: unknown): value is TaskInput {
  return (
    isJsonObject(value) &&
    value["version"] === VERSION &&
    typeof value["receivedAt"] === "number" &&
    typeof value["linkBase"] === "string" &&
    [value["endpoint"], value["caller"], value["bounds"], value["body"]].every(isJsonObject)
  );
}
