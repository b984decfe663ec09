import { isArkErrorCode } from "../ark/error-codes.js";
import { isDashscopeErrorCode } from "../dashscope/error-codes.js";
import { isJsonObject, type JsonObject } from "../json.js";
import type { Fault } from "./fault.js";

type Rule = readonly [isRight: (value: unknown) => boolean, expected: string];

const text: Rule = [(value) => typeof value === "string" && value !== "", "a non-empty string"];
const flag: Rule = [(value) => value === true, "true or absent"];
const count: Rule = [isCount, "a whole number, 0 or more"];
const duration: Rule = [(value) => isFiniteNumber(value) && value >= 0, "a number, 0 or more"];

const rules: Readonly<Record<keyof Fault, Rule>> = {
  provider: [(value) => value === "ark" || value === "dashscope", '"ark" or "dashscope"'],
  model: text,
  times: [(value) => isCount(value) && value > 0, "a whole number, 1 or more"],
  probability: [(value) => isFiniteNumber(value) && value >= 0 && value <= 1, "a number from 0 to 1"],
  latencyMs: duration,
  code: text,
  status: [(value) => isCount(value) && value >= 200 && value <= 599, "an HTTP status from 200 to 599"],
  message: text,
  retryAfterSeconds: count,
  wrongKey: flag,
  hang: flag,
  malformedJson: flag,
  emptyBody: flag,
  expiredLinks: flag,
  failImages: [isListOfFailedImages, "a list of { index, code?, message? }"],
  omitUsage: flag,
  streamErrorAfterImages: count,
  omitDone: flag,
  unknownEvents: flag,
  severalChoices: flag,
  outputImageCount: flag,
  rewrittenPrompt: text,
};

const exclusive = ["wrongKey", "hang", "malformedJson", "emptyBody"] as const;

/** Returns the value as a fault, or throws a `TypeError` that says what is wrong with it. */
export function checkFault(value: unknown): Fault {
  if (!isJsonObject(value)) throw new TypeError("A fault must be an object.");
  for (const [name, given] of Object.entries(value)) checkField(name, given);
  checkTogether(value);
  return value;
}

function checkField(name: string, given: unknown): void {
  if (!isFaultField(name)) {
    throw new TypeError(`A fault has no field "${name}". Its fields: ${Object.keys(rules).join(", ")}.`);
  }
  const [isRight, expected] = rules[name];
  if (given !== undefined && !isRight(given)) {
    throw new TypeError(`The fault's "${name}" must be ${expected}.`);
  }
}

function checkTogether(fault: JsonObject): void {
  const outcomes = exclusive.filter((name) => fault[name] !== undefined);
  if (outcomes.length > 1) throw new TypeError(`A fault has only one of ${outcomes.join(", ")}.`);
  if (typeof fault.code === "string" && fault.status === undefined && !isKnownCode(fault.code)) {
    throw new TypeError(`Neither provider has the code "${fault.code}": give a "status" with it.`);
  }
}

function isFaultField(name: string): name is keyof Fault {
  return Object.hasOwn(rules, name);
}

function isKnownCode(code: string): boolean {
  return isArkErrorCode(code) || isDashscopeErrorCode(code);
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function isCount(value: unknown): value is number {
  return isFiniteNumber(value) && Number.isInteger(value) && value >= 0;
}

function isListOfFailedImages(value: unknown): boolean {
  return Array.isArray(value) && value.every(isFailedImage);
}

function isFailedImage(value: unknown): boolean {
  if (!isJsonObject(value) || !isCount(value.index)) return false;
  const { code, message } = value;
  return (code === undefined || text[0](code)) && (message === undefined || text[0](message));
}
