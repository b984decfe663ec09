import { isDeepStrictEqual } from "node:util";
import type { Family } from "@calotype/core/families";
import { type Broken, deepFreeze, type FunctionCheck } from "../../function-part.ts";
import { shrinkJson } from "../../grammar/json-text.ts";
import {
  drawEvents,
  drawFailure,
  drawSuccess,
  type ProviderBody,
  type ProviderEvents,
} from "../../grammar/provider-bodies.ts";
import { toRecord } from "../../to-record.ts";
import { expectQwenResult, expectSeedreamResult, expectStreamResult } from "./expect-response.ts";
import type { Families } from "./request-checks.ts";

/** A request for calls that need one. */
const REQUEST: ReturnType<Family["normalize"]> = deepFreeze({
  operation: "generate",
  model: "seedream-4-0-250828",
  prompt: "x",
  images: [],
  maxImages: 1,
  responseFormat: "url",
  stream: false,
  upstreamFields: {},
  ignored: [],
});

/** `fromUpstream` and `responseShape`: what a client gets of a success. */
export const createSuccessCheck = (families: Families): FunctionCheck<ProviderBody> => ({
  name: "a success",
  weight: 2,
  draw: drawSuccess,
  findBroken({ family, body }) {
    const expected = family === "seedream" ? expectSeedreamResult(body) : expectQwenResult(body);
    const result = families[family].fromUpstream(body, REQUEST);
    const { images, errors, failure, usage } = result;
    if (!isDeepStrictEqual({ images, errors, failure, usage }, expected))
      return { rule: "a success gives the images, errors and counts of its body", seen: [result, expected] };
    return findBrokenShape(families[family], body, result);
  },
  shrink: shrinkBody,
});

/** `toFailure`: what an error of a provider means. */
export const createFailureCheck = (families: Families): FunctionCheck<ProviderBody> => ({
  name: "a failure",
  draw: drawFailure,
  findBroken(input) {
    const { family, status, body } = input;
    const failure = families[family].toFailure({ status, headers: NO_HEADERS, body });
    const rule = findBrokenFailure(families, input, failure);
    return rule === undefined ? undefined : { rule, seen: failure };
  },
  shrink: shrinkBody,
});

/** `readStream`: what the events of a stream make and use. */
export const createEventsCheck = (families: Families): FunctionCheck<ProviderEvents> => ({
  name: "a stream",
  draw: drawEvents,
  findBroken(input) {
    const reader = families.seedream.readStream?.({ ...REQUEST, upstreamFields: { size: input.size } });
    if (reader === undefined) return { rule: "Seedream reads streams" };
    let wasOver = false;
    for (const event of input.events) {
      reader.read(event);
      if (wasOver && reader.isOver !== true) return { rule: "a stream that is over stays over", seen: event };
      wasOver = reader.isOver === true;
    }
    const { images, usage, failure, errors } = reader.result();
    const reason = failure && { code: failure.code, message: failure.message };
    const result = { images, usage, isOver: wasOver, failure: reason, errors };
    return isDeepStrictEqual(result, expectStreamResult(input))
      ? undefined
      : {
          rule: "a stream gives the images, counts and failure of its events",
          seen: [result, expectStreamResult(input)],
        };
  },
  *shrink(input) {
    for (const index of input.events.keys()) yield { ...input, events: input.events.toSpliced(index, 1) };
  },
});

/** A large response is read by `responseShape` as it arrives: with the same result as the buffered one. */
function findBrokenShape(
  { responseShape: shape }: Family,
  body: ProviderBody["body"],
  result: ReturnType<Family["fromUpstream"]>,
): Broken | undefined {
  if (shape === undefined) return undefined;
  const value: unknown = body[shape.items];
  const items = (Array.isArray(value) ? value : []).map((item: unknown, index) =>
    shape.readItem(item, index),
  );
  const streamed = {
    images: items.filter((item) => item === "image").length,
    errors: items.filter((item) => item !== "image"),
    usage: shape.readUsage(body[shape.usage]),
    failure: shape.readFailure(body[shape.failure]),
    created: shape.readCreated(body[shape.created]),
  };
  const { images, errors, usage, failure, created } = result;
  return isDeepStrictEqual(streamed, { images: images.length, errors, usage, failure, created })
    ? undefined
    : { rule: "a response that is read as it arrives gives the same result", seen: [streamed, result] };
}

const NO_HEADERS = new Headers();

const KINDS = new Set(["content", "model", "credential", "rate", "quota", "overload", "server"]);

const SCOPES = new Set([undefined, "request", "model", "key", "channel"]);

/** What a 429 may mean. */
const KINDS_OF_429 = new Set(["rate", "quota", "credential", "model"]);

function findBrokenFailure(
  families: Families,
  { family, status, body }: ProviderBody,
  failure: ReturnType<Family["toFailure"]>,
): string | undefined {
  const { kind, scope, code, message } = failure;
  if (!KINDS.has(kind) || !SCOPES.has(scope)) return "a failure has a documented kind and scope";
  const details = toRecord(family === "seedream" ? body["error"] : body);
  if (code !== readWord(details["code"])) return "a failure has the provider's code";
  if (message !== readWord(details["message"])) return "a failure has the provider's message";
  const toFailure = (toStatus: number, toCode: unknown): ReturnType<Family["toFailure"]> => {
    const changed = { ...details, code: toCode };
    const changedBody = family === "seedream" ? { error: changed } : changed;
    return families[family].toFailure({ status: toStatus, headers: NO_HEADERS, body: changedBody });
  };
  const byStatus = families[family].toFailure({ status, headers: NO_HEADERS, body: undefined });
  const unknown = toFailure(status, "NoSuchCode");
  if (unknown.kind !== byStatus.kind || unknown.scope !== byStatus.scope)
    return "an unknown code leaves the kind to the status";
  if (status === 429 && !KINDS_OF_429.has(kind)) return "a 429 is a limit, or is our account's or model's";
  const [atTeapot, atConflict] = [toFailure(418, code), toFailure(409, code)];
  return atTeapot.kind === atConflict.kind && atTeapot.scope === atConflict.scope
    ? undefined
    : "a code means the same with every status of a refused request";
}

/** A string that is not empty. */
function readWord(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function* shrinkBody(input: ProviderBody): Iterable<ProviderBody> {
  for (const body of shrinkJson(input.body)) yield { ...input, body: toRecord(body) };
}
