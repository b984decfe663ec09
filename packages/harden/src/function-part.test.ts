import { readFileSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createRandom } from "@calotype/conformance/fleet-simulation/create-random";
import { isGatewayError } from "@calotype/core";
import { calculateCharge, estimateCharge } from "@calotype/core/billing";
import {
  applyImageCount,
  checkSize,
  type Family,
  qwenImage,
  type StreamReader,
  seedream,
  toJsonBody,
  toReferenceImage,
} from "@calotype/core/families";
import { createSseReader, relaySse } from "@calotype/core/sse";
import {
  createMemoryLedger,
  type HoldRecord,
  type NewTask,
  type TaskLedger,
  type TaskRoom,
} from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { createFunctionPart, deepFreeze, type FunctionCheck } from "./function-part.ts";
import { createBillingChecks } from "./parts/billing.ts";
import type { FamilyFunctions } from "./parts/families/request-checks.ts";
import { createFamilyChecks } from "./parts/families.ts";
import { createNormalizerChecks, type Normalize, normalize } from "./parts/normalizer.ts";
import { createShareChecks } from "./parts/shares.ts";
import { createSseChecks } from "./parts/sse.ts";
import { runPart, type TaskResult } from "./run-part.ts";

/** Draws numbers from 0 to 9. */
const digits = (
  findBroken: FunctionCheck<{ digit: number }>["findBroken"],
): FunctionCheck<{ digit: number }> => ({
  name: "a digit",
  draw: (random) => ({ digit: Math.floor(random() * 10) }),
  findBroken,
});

async function run(check: FunctionCheck): Promise<TaskResult & { readonly rules: readonly string[] }> {
  const part = createFunctionPart({ name: "test-function-part", guarantees: "" }, [check]);
  const task = { part: part.name, seed: 5, seconds: 0.2, share: { index: 0, of: 1 } };
  const result = await runPart(part, task);
  const rules = result.findings.map((path) => String(JSON.parse(readFileSync(path, "utf8")).rule));
  for (const path of result.findings) rmSync(path);
  return { ...result, rules };
}

/** Only the first runs are slow, so that the test ends soon. */
let slowRuns = 4;

describe("a part of functions", () => {
  it("counts different inputs", async () => {
    expect(await run(digits(() => undefined))).toMatchObject({ figures: { inputs: 10 }, rules: [] });
  });

  it.each<readonly [string, string, FunctionCheck<{ digit: number }>["findBroken"]]>([
    ["a broken rule", "no 7", ({ digit }) => (digit === 7 ? { rule: "no 7" } : undefined)],
    ["a changed input", "a digit: throws only documented errors", (input) => void (input.digit += 1)],
    [
      "a slow input",
      "a digit: an input takes at most 100 ms",
      async ({ digit }) => void (digit === 7 && slowRuns-- > 0 && (await sleep(110))),
    ],
    [
      "a changed Object.prototype",
      "no input changes Object.prototype",
      () => {
        const prototype: { polluted?: boolean } = Object.prototype;
        prototype.polluted = true;
        setImmediate(() => delete prototype.polluted);
        return undefined;
      },
    ],
  ])("finds %s", async (_what, rule, findBroken) => {
    expect((await run(digits(findBroken))).rules).toContain(rule);
  });
});

/** More than any mutant here needs. */
const MAX_INPUTS = 20_000;

/** True if inputs from a fixed seed break the rule. */
async function findsRule(checks: readonly FunctionCheck[], rule: string): Promise<boolean> {
  const random = createRandom(1, "mutants");
  for (let index = 0; index < MAX_INPUTS; index += 1) {
    for (const check of checks) {
      const broken = await check.findBroken(deepFreeze(check.draw(random)));
      if (broken?.rule === rule) return true;
    }
  }
  return false;
}

describe("the rules of the normalizer", () => {
  it.each<readonly [string, Normalize]>([
    [
      "a request is understood or refused",
      async (request) => ({ ...(await normalize(request)), request: undefined }),
    ],
    [
      "a body is refused with a 400, 404, 413 or 415",
      async (request) => {
        const result = await normalize(request);
        return result.status === 400 ? { ...result, status: 500 } : result;
      },
    ],
    [
      "an error has a documented code",
      async (request) => {
        const result = await normalize(request);
        return { ...result, body: result.body.replace('"code":"invalid_request_error"', '"code":"odd"') };
      },
    ],
    [
      "the chunks of a body change nothing",
      (request) => normalize({ ...request, body: dropLast(request.body) }),
    ],
    [
      "the image request is that of JSON.parse and the family",
      // Parsed by the host, a body may have a field twice.
      async (request) => {
        const text = await readText(request.body);
        try {
          return await normalize({ ...request, body: null, parsedBody: JSON.parse(text) });
        } catch {
          return normalize({ ...request, body: dropLast(null) });
        }
      },
    ],
    [
      "a forwarded number keeps its digits",
      async (request) => {
        const result = await normalize(request);
        return { ...result, request: result.request && JSON.stringify(JSON.parse(result.request)) };
      },
    ],
    [
      "a body that the host has parsed gives the same image request",
      (request) => normalize({ ...request, ...(request.parsedBody !== undefined && { parsedBody: {} }) }),
    ],
    [
      "the images of a valid form keep their bytes and their order",
      async (request) => {
        const result = await normalize(request);
        return { ...result, request: result.request?.replaceAll("image/gif", "image/png") };
      },
    ],
  ])("%s", async (rule, broken) => {
    expect(await findsRule(createNormalizerChecks(broken), rule)).toBe(true);
  });
});

type Body = Parameters<Normalize>[0]["body"];

/** A body without its last chunk, if it has several. */
async function* dropLast(body: Body): AsyncGenerator<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body ?? []) chunks.push(chunk);
  yield* chunks.length > 1 ? chunks.slice(0, -1) : chunks;
}

async function readText(body: Body): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body ?? []) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** A ledger in memory that has other room than a submission says. */
const withRoom = (alter: (room: TaskRoom) => TaskRoom | undefined) => (): TaskLedger => {
  const ledger = createMemoryLedger();
  const tasks = {
    ...ledger.tasks,
    submit: (task: NewTask, hold: HoldRecord) =>
      ledger.tasks.submit({ ...task, room: task.room && alter(task.room) }, hold),
  };
  return { ...ledger, tasks };
};

describe("the rules of shares", () => {
  it.each<readonly [string, () => TaskLedger]>([
    ["open tasks: never more than there is room for", withRoom(() => undefined)],
    [
      "open tasks: a caller has at most half of what the others leave",
      withRoom(({ tasks, bytes }) => ({ tasks: tasks + 1, bytes })),
    ],
    [
      "open tasks: a caller without tasks gets what is left",
      withRoom(({ tasks, bytes }) => ({ tasks, bytes: bytes - 1 })),
    ],
    [
      "open tasks: a caller within its share is not refused",
      withRoom(({ tasks, bytes }) => ({ tasks: tasks - 1, bytes })),
    ],
  ])("%s", async (rule, createLedger) => {
    expect(await findsRule(createShareChecks(createLedger), rule)).toBe(true);
  });
});

const calculator = { calculateCharge, estimateCharge };

describe("the rules of the billing calculator", () => {
  it.each<readonly [string, typeof calculator]>([
    [
      "a charge: the amount is exact and rounded once, half up",
      {
        ...calculator,
        calculateCharge(input) {
          const charge = calculateCharge(input);
          return { ...charge, amount: charge.amount.slice(0, 20) };
        },
      },
    ],
    [
      "a charge: the derivation names the numbers that were used",
      {
        ...calculator,
        calculateCharge(input) {
          const charge = calculateCharge(input);
          return { ...charge, derivation: { ...charge.derivation, exact: charge.amount } };
        },
      },
    ],
    [
      "a charge: an unusable price, count or rounding is refused",
      {
        ...calculator,
        calculateCharge: ({ usage, ...input }) =>
          calculateCharge({ ...input, usage: usage && { ...usage, generated_images: 1 } }),
      },
    ],
    [
      "a charge: usable prices and counts are charged",
      {
        ...calculator,
        calculateCharge(input) {
          if (input.usage?.total_tokens === 0) throw new RangeError("no tokens");
          return calculateCharge(input);
        },
      },
    ],
    [
      "a charge is refused with a RangeError and a short message",
      {
        ...calculator,
        calculateCharge(input) {
          try {
            return calculateCharge(input);
          } catch (error) {
            throw new RangeError(JSON.stringify(input), { cause: error });
          }
        },
      },
    ],
    [
      "an estimate: it is the charge for the most images and tokens",
      {
        ...calculator,
        estimateCharge: ({ request, ...input }) =>
          estimateCharge({
            ...input,
            request: { ...request, maxImages: Math.max(1, request.maxImages - 1) },
          }),
      },
    ],
    [
      "an estimate: unusable prices and bounds are refused",
      {
        ...calculator,
        estimateCharge: ({ request: { maxImages }, ...input }) =>
          estimateCharge({ ...input, request: { maxImages } }),
      },
    ],
    [
      "an estimate: a charge within its bounds is not above it",
      {
        ...calculator,
        calculateCharge: ({ usage, ...input }) =>
          calculateCharge({ ...input, usage: usage && { ...usage, generated_images: 99 } }),
      },
    ],
    [
      "an estimate: usable prices and bounds are estimated",
      {
        ...calculator,
        estimateCharge(input) {
          if (input.request.maxImages === 7) throw new RangeError("seven");
          return estimateCharge(input);
        },
      },
    ],
  ])("%s", async (rule, broken) => {
    expect(await findsRule(createBillingChecks(broken), rule)).toBe(true);
  });
});

const events = { createSseReader, relaySse };
const decoder = new TextDecoder();
const encoder = new TextEncoder();

describe("the rules of the event functions", () => {
  it.each<readonly [string, typeof events]>([
    [
      "the reader gives the events of the standard, at any split",
      {
        ...events,
        // Decodes each chunk on its own.
        createSseReader: (onEvent) => {
          const reader = createSseReader(onEvent);
          return {
            isInsideEvent: false,
            push: (chunk) => reader.push(encoder.encode(decoder.decode(chunk))),
          };
        },
      },
    ],
    [
      "the reader knows between which bytes an event has begun",
      {
        ...events,
        createSseReader: (onEvent) => ({
          isInsideEvent: false,
          push: createSseReader(onEvent).push.bind(createSseReader(onEvent)),
        }),
      },
    ],
    [
      "the relay tells its end once",
      { ...events, relaySse: (source, { onEnd: _onEnd, ...options } = {}) => relaySse(source, options) },
    ],
    [
      "the relay gives all events",
      { ...events, relaySse: (source, { onEvent: _onEvent, ...options } = {}) => relaySse(source, options) },
    ],
    [
      "the relay passes each byte unchanged",
      {
        ...events,
        relaySse: (source, options) =>
          mapChunks(relaySse(source, options), (chunk) => chunk.map((byte) => (byte === 13 ? 10 : byte))),
      },
    ],
    [
      "the relay throws the error of its source inside an event",
      { ...events, relaySse: (source, options) => endQuietly(relaySse(source, options)) },
    ],
    [
      "what follows the last event waits until the end was told",
      { ...events, relaySse: (source, { isLast: _isLast, ...options } = {}) => relaySse(source, options) },
    ],
    [
      "the relay says how the source ended",
      {
        ...events,
        relaySse: (source, options) =>
          relaySse(source, { ...options, onEnd: async () => options?.onEnd?.({ reason: "complete" }) }),
      },
    ],
    [
      "a reader that leaves got the beginning of the stream",
      {
        ...events,
        relaySse: (source, options) => mapChunks(relaySse(source, options), (chunk) => chunk.toReversed()),
      },
    ],
  ])("%s", async (rule, broken) => {
    expect(await findsRule(createSseChecks(broken), rule)).toBe(true);
  });
});

/** A stream whose error looks like its end. */
async function* endQuietly(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* stream;
  } catch {
    // The rule must find this.
  }
}

/** Applies a function to each chunk that a relay passes. */
function mapChunks(
  stream: AsyncIterableIterator<Uint8Array>,
  map: (chunk: Uint8Array) => Uint8Array,
): AsyncIterableIterator<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      const result = await stream.next();
      return result.done === true ? result : { done: false, value: map(result.value) };
    },
    async return() {
      await stream.return?.();
      return { done: true, value: undefined };
    },
  };
}

const functions: FamilyFunctions = {
  families: { seedream, "qwen-image": qwenImage },
  applyImageCount,
  toJsonBody,
  checkSize,
  toReferenceImage,
};

/** The functions with a changed adapter of Seedream. */
function change(changed: Partial<Family>): FamilyFunctions {
  return { ...functions, families: { ...functions.families, seedream: { ...seedream, ...changed } } };
}

function changeQwen(changed: Partial<Family>): FamilyFunctions {
  return { ...functions, families: { ...functions.families, "qwen-image": { ...qwenImage, ...changed } } };
}

function readSeedream(request: Parameters<NonNullable<Family["readStream"]>>[0]): StreamReader {
  const reader = seedream.readStream?.(request);
  if (reader === undefined) throw new TypeError("Seedream reads streams.");
  return reader;
}

describe("the rules of the families", () => {
  it.each<readonly [string, FamilyFunctions]>([
    [
      "a request is refused with a 400 that names the field",
      change({
        normalize(fields, context) {
          try {
            return seedream.normalize(fields, context);
          } catch (error) {
            if (isGatewayError(error)) throw new TypeError(error.message, { cause: error });
            throw error;
          }
        },
      }),
    ],
    [
      "a request that the interface does not allow is refused",
      change({ normalize: ({ mask: _mask, ...fields }, context) => seedream.normalize(fields, context) }),
    ],
    [
      "a request that the interface allows is taken",
      change({
        normalize: (fields, context) =>
          seedream.normalize(fields, { ...context, capabilities: { imagesPerCall: 14 } }),
      }),
    ],
    [
      "a request is forwarded as the interface says",
      change({ normalize: (fields, context) => ({ ...seedream.normalize(fields, context), maxImages: 1 }) }),
    ],
    [
      "the order of fields changes nothing",
      change({
        normalize(fields, context) {
          const request = seedream.normalize(fields, context);
          return { ...request, prompt: Object.keys(fields).at(-1) ?? "" };
        },
      }),
    ],
    [
      "a call carries the fields as JSON",
      change({
        toUpstream: (request, model) => ({ ...seedream.toUpstream(request, model), body: { json: {} } }),
      }),
    ],
    [
      "what is forwarded stays the same as a request itself",
      changeQwen({
        normalize(fields, context) {
          const request = qwenImage.normalize(fields, context);
          const parameters = {
            ...Object(request.upstreamFields["parameters"]),
            added: Object.keys(fields).length,
          };
          return { ...request, upstreamFields: { ...request.upstreamFields, parameters } };
        },
      }),
    ],
    [
      "a success gives the images, errors and counts of its body",
      change({ fromUpstream: (body, request) => ({ ...seedream.fromUpstream(body, request), errors: [] }) }),
    ],
    [
      "a response that is read as it arrives gives the same result",
      change({
        ...(seedream.responseShape && {
          responseShape: { ...seedream.responseShape, readUsage: () => undefined },
        }),
      }),
    ],
    [
      "a failure has the provider's code",
      change({ toFailure: (response) => ({ ...seedream.toFailure(response), code: "x" }) }),
    ],
    [
      "an unknown code leaves the kind to the status",
      change({
        toFailure(response) {
          const failure = seedream.toFailure(response);
          return failure.code === "NoSuchCode" ? { ...failure, kind: "quota" } : failure;
        },
      }),
    ],
    [
      "a code means the same with every status of a refused request",
      change({
        toFailure: (response) => ({
          ...seedream.toFailure(response),
          ...(response.status === 418 && { kind: "quota" as const }),
        }),
      }),
    ],
    [
      "a stream gives the images, counts and failure of its events",
      change({
        readStream(request) {
          const reader = readSeedream(request);
          return { read: (event) => reader.read(event), result: () => ({ ...reader.result(), images: 1 }) };
        },
      }),
    ],
    [
      "n above 1 asks for a batch, unless the client said otherwise",
      {
        ...functions,
        applyImageCount: (n, { sequential_image_generation_options: options }) =>
          applyImageCount(n, { sequential_image_generation_options: options }),
      },
    ],
    [
      "uploads become data URLs in place, each time they are written",
      { ...functions, toJsonBody: ({ again: _again, ...value }) => toJsonBody(value) },
    ],
    [
      "a request makes at least one image",
      changeQwen({
        normalize: (fields, context) => ({ ...qwenImage.normalize(fields, context), maxImages: 0 }),
      }),
    ],
    [
      "a call has a path",
      change({
        toUpstream: (request, model) => ({ ...seedream.toUpstream(request, model), path: "images" }),
      }),
    ],
    [
      "what is forwarded is a valid request itself",
      changeQwen({
        normalize(fields, context) {
          const request = qwenImage.normalize(fields, context);
          return { ...request, upstreamFields: { ...request.upstreamFields, size: "1K" } };
        },
      }),
    ],
    [
      "a failure has a documented kind and scope",
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The rule is for values outside of the type.
      change({
        toFailure: (response) => ({ ...seedream.toFailure(response), kind: "odd" as "content" }),
      }),
    ],
    [
      "a failure has the provider's message",
      change({ toFailure: (response) => ({ ...seedream.toFailure(response), message: "No." }) }),
    ],
    [
      "a 429 is a limit, or is our account's or model's",
      change({
        toFailure(response) {
          const failure = seedream.toFailure(response);
          return failure.code === "ServerOverloaded" ? { ...failure, kind: "overload" } : failure;
        },
      }),
    ],
    [
      "a stream that is over stays over",
      change({
        readStream(request) {
          const reader = readSeedream(request);
          let count = 0;
          return {
            read(event) {
              reader.read(event);
              count += 1;
            },
            get isOver() {
              return reader.isOver === true && count % 2 === 0;
            },
            result: () => reader.result(),
          };
        },
      }),
    ],
    [
      "a size is taken if and only if the limits allow it",
      {
        ...functions,
        checkSize: (size, { side: _side, ...limits }, style) => checkSize(size, limits, style),
      },
    ],
    [
      "a link or a data URL is forwarded, and everything else is refused",
      {
        ...functions,
        toReferenceImage: (value, param, types) => toReferenceImage(value.trim(), param, types),
      },
    ],
    [
      "a body has the length that it says",
      {
        ...functions,
        toJsonBody(value) {
          const body = toJsonBody(value);
          return typeof body === "string"
            ? body
            : { byteLength: body.byteLength + 1, [Symbol.asyncIterator]: () => body[Symbol.asyncIterator]() };
        },
      },
    ],
  ])("%s", async (rule, broken) => {
    expect(await findsRule(createFamilyChecks(broken), rule)).toBe(true);
  });
});
