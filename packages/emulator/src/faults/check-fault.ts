import { isErrorCode } from "../error-codes.js";
import { isJsonObject, type JsonObject } from "../json.js";
import { operationKinds } from "../operation-kind.js";
import { providerNames } from "../provider-name.js";
import type { BodyFault, Fault, StreamFault, TaskFault } from "./fault.js";
import {
  amount,
  count,
  duration,
  flag,
  isCount,
  isFiniteNumber,
  isText,
  must,
  objectOf,
  oneOf,
  type Rule,
  text,
} from "./rule.js";

/** A rule for each field, so that the compiler finds a field without one. */
type RulesFor<Fields> = Readonly<Record<keyof Fields, Rule>>;

const maxCompletedEvents = 100;
const listOfSizes = must(
  (value) => Array.isArray(value) && value.length > 0 && value.every((size) => isCount(size) && size > 0),
  "a list of whole numbers, 1 or more",
);

const bodyRules: RulesFor<BodyFault> = {
  delayMs: amount(0),
  chunkBytes: (value, path) => (Array.isArray(value) ? listOfSizes : amount(1))(value, path),
  pauseMs: amount(0),
  cutAfterBytes: amount(0),
};

const streamRules: RulesFor<StreamFault> = {
  cutAfterEvents: must((value) => isFiniteNumber(value) && value >= 0, "a number, 0 or more"),
  completedEvents: must(
    (value) => isCount(value) && value <= maxCompletedEvents,
    `a whole number from 0 to ${maxCompletedEvents}`,
  ),
  lineEnd: oneOf("crlf", "cr"),
  comments: flag,
  keepAliveMs: must((value) => isFiniteNumber(value) && value >= 1, "a number, 1 or more"),
};

const taskRules: RulesFor<TaskFault> = {
  runningPolls: count,
  atOnce: flag,
  stuck: flag,
  end: oneOf("failed", "moderation", "request-moderation", "canceled", "lost"),
  code: text,
  message: text,
};

const maxImagesPerResponse = 10;
const origin = must(
  (value) => typeof value === "string" && URL.canParse(value) && new URL(value).origin === value,
  "an origin such as http://localhost:4010",
);

const rules: RulesFor<Fault> = {
  provider: oneOf(...providerNames),
  model: text,
  operation: oneOf(...operationKinds),
  times: must((value) => isCount(value) && value > 0, "a whole number, 1 or more"),
  probability: must((value) => isFiniteNumber(value) && value >= 0 && value <= 1, "a number from 0 to 1"),
  latencyMs: duration,
  code: text,
  status: must((value) => isCount(value) && value >= 200 && value <= 599, "an HTTP status from 200 to 599"),
  message: text,
  type: text,
  retryAfterSeconds: count,
  retryAfterMs: count,
  shouldRetry: must((value) => typeof value === "boolean", "true or false"),
  wrongKey: flag,
  hang: flag,
  hangUp: flag,
  malformedJson: flag,
  emptyBody: flag,
  respondAs: oneOf("json", "stream"),
  body: objectOf(bodyRules),
  stream: objectOf(streamRules),
  expiredLinks: flag,
  linkOrigin: origin,
  pollOrigin: origin,
  failImages: must(isListOfFailedImages, "a list of { index, code?, message? }"),
  noImages: flag,
  omitUsage: flag,
  usage: must(isJsonData, "an object of JSON values"),
  streamErrorAfterImages: count,
  streamErrorAfterEvents: count,
  omitDone: flag,
  sendDone: flag,
  unknownEvents: flag,
  finishReason: text,
  blockReason: text,
  thoughts: flag,
  imagesPerResponse: must(
    (value) => isCount(value) && value >= 1 && value <= maxImagesPerResponse,
    `a whole number from 1 to ${maxImagesPerResponse}`,
  ),
  task: objectOf(taskRules),
  severalChoices: flag,
  outputImageCount: flag,
  rewrittenPrompt: text,
};

/** A fault has at most one field of each of these lists. */
const exclusive = [
  ["wrongKey", "hang", "hangUp", "malformedJson", "emptyBody"],
  ["malformedJson", "stream"],
  ["failImages", "noImages"],
  ["omitUsage", "usage"],
  ["finishReason", "blockReason", "noImages"],
  ["streamErrorAfterImages", "streamErrorAfterEvents"],
] as const satisfies readonly (readonly (keyof Fault)[])[];

/** Returns the value as a fault. Throws a `TypeError` that says what is wrong with it. */
export function checkFault(value: unknown): Fault {
  if (isJsonObject(value) && value.answerAs !== undefined) {
    throw new TypeError('The fault\'s "answerAs" is now called "respondAs".');
  }
  objectOf(rules)(value, "");
  const fault = isJsonObject(value) ? value : {};
  checkTogether(fault);
  return fault;
}

function checkTogether(fault: JsonObject): void {
  for (const names of exclusive) {
    const given = names.filter((name) => fault[name] !== undefined);
    if (given.length > 1) throw new TypeError(`A fault can have only one of ${given.join(", ")}.`);
  }
  if (typeof fault.code === "string" && fault.status === undefined && !isErrorCode(fault.code)) {
    throw new TypeError(`No provider has the code "${fault.code}". Add a "status" to use it.`);
  }
}

function isListOfFailedImages(value: unknown): boolean {
  return Array.isArray(value) && value.every(isFailedImage);
}

function isFailedImage(value: unknown): boolean {
  if (!isJsonObject(value) || !isCount(value.index)) return false;
  const { code, message } = value;
  return (code === undefined || isText(code)) && (message === undefined || isText(message));
}

/** Whether it can be cloned and written as JSON: no functions, no bigints, no cycles. */
function isJsonData(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  try {
    return typeof JSON.stringify(structuredClone(value)) === "string";
  } catch {
    return false;
  }
}
