import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createByteBudget } from "../admission/byte-budget.js";
import { createManualClock } from "../testing/manual-clock.js";
import { toChunks } from "../util/readable-chunks.js";
import { type BodyReader, receiveBody } from "./body.js";

const SECONDS = 20;
const RATE = 1_024;

/** A body whose chunks are sent by the test. */
interface Sender {
  readonly body: AsyncIterable<Uint8Array>;
  send(bytes: number): void;
  readonly isLeft: () => boolean;
}

function webStream(): Sender {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let isLeft = false;
  const body = new ReadableStream<Uint8Array>({
    start: (given) => void (controller = given),
    cancel: () => void (isLeft = true),
  });
  const send = (bytes: number): void => {
    if (!isLeft) controller?.enqueue(new Uint8Array(bytes));
  };
  return { body, send, isLeft: () => isLeft };
}

/** An iterator whose `return` never resolves, as that of a generator that waits for its source. */
function stuckIterator(): Sender {
  const chunks: Uint8Array[] = [];
  let wake: (() => void) | undefined;
  let isLeft = false;
  const next = async (): Promise<IteratorResult<Uint8Array>> => {
    while (chunks.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    return { done: false, value: chunks.shift() ?? new Uint8Array() };
  };
  const body = {
    [Symbol.asyncIterator]: () => ({
      next,
      return() {
        isLeft = true;
        return new Promise<never>(() => {});
      },
    }),
  };
  return {
    body,
    send(bytes) {
      chunks.push(new Uint8Array(bytes));
      wake?.();
    },
    isLeft: () => isLeft,
  };
}

/** A stream of `node:http`. */
function nodeStream(): Sender {
  const stream = new Readable({ read() {} });
  const isLeft = (): boolean => stream.isPaused() && stream.listenerCount("data") === 0;
  return { body: toChunks(stream), send: (bytes) => void stream.push(new Uint8Array(bytes)), isLeft };
}

interface Opened {
  /** Reads the body to its end. Returns its length, or the error. */
  readonly read: (take?: BodyReader<number>["take"]) => Promise<unknown>;
  readonly clock: ReturnType<typeof createManualClock>;
  readonly budget: ReturnType<typeof createByteBudget>;
}

function open(body: AsyncIterable<Uint8Array> | null, maxBytes = 1_000_000): Opened {
  const clock = createManualClock();
  const budget = createByteBudget({ maxBytes, maxCallerShare: 0.5, now: () => 0 });
  const bytes = budget.open("me", 0);
  if (bytes === undefined) throw new Error("The budget has no room.");
  const pace = {
    minBytesPerSecond: RATE,
    seconds: SECONDS,
    everySecond: (work: () => void) => clock.repeat(work, 1_000),
  };
  const read: Opened["read"] = async (take) => {
    let length = 0;
    const reader: BodyReader<number> = {
      take(chunk) {
        length += chunk.length;
        return take?.(chunk);
      },
      end: () => length,
    };
    return await receiveBody({ body }, reader, { bytes, pace }).catch((error: unknown) => error);
  };
  return { read, clock, budget };
}

const SLOW = { code: "request_timeout", status: 408 };

describe.each([
  ["a Web stream", webStream],
  ["an iterator that never returns", stuckIterator],
  ["a stream of Node", nodeStream],
])("a body that is %s", (_what, create) => {
  it("and sends nothing is a 408 after 20 seconds, and not before", async () => {
    const sender = create();
    const { read, clock } = open(sender.body);
    let outcome: unknown;
    const reading = read().then((value) => (outcome = value));
    await clock.tick(SECONDS - 1);
    expect(outcome).toBeUndefined();
    await clock.tick(1);
    await reading;
    expect(outcome).toMatchObject(SLOW);
    expect(sender.isLeft()).toBe(true);
    expect(clock.running).toBe(0);
  });

  it("and becomes slower than the minimum rate is a 408", async () => {
    const sender = create();
    const { read, clock, budget } = open(sender.body);
    const reading = read();
    sender.send(500_000);
    for (let second = 0; second < 2 * SECONDS; second++) {
      sender.send(RATE - 1);
      await clock.tick(1);
    }
    expect(await reading).toMatchObject(SLOW);
    expect(budget.inUse).toBeGreaterThan(500_000);
    expect(clock.running).toBe(0);
  });

  it("and keeps the minimum rate is read to its end", async () => {
    const sender = create();
    const { read, clock } = open(sender.body);
    let outcome: unknown;
    void read().then((value) => (outcome = value));
    for (let burst = 0; burst < 30; burst++) {
      sender.send(RATE * 10);
      await clock.tick(10);
    }
    expect(outcome).toBeUndefined();
  });

  it("may take any time while the gateway does not wait for it", async () => {
    const sender = create();
    const { read, clock } = open(sender.body);
    const written = Promise.withResolvers<void>();
    let taken = 0;
    const reading = read(() => (++taken === 1 ? written.promise : undefined));
    sender.send(1);
    await setImmediate();
    sender.send(1);
    await clock.tick(100);
    expect(taken).toBe(1);
    written.resolve();
    await setImmediate();
    expect(taken).toBe(2);
    await clock.tick(SECONDS);
    expect(await reading).toMatchObject(SLOW);
    expect(clock.running).toBe(0);
  });

  it.each<[string, (error: Error) => Promise<void>]>([
    [
      "at once",
      (error) => {
        throw error;
      },
    ],
    [
      "later",
      async (error) => {
        throw error;
      },
    ],
  ])("is left when its reader fails %s; later bytes are neither counted nor read", async (_when, take) => {
    const sender = create();
    const { read, clock, budget } = open(sender.body);
    const error = new Error("No room.");
    let taken = 0;
    const reading = read(() => {
      taken++;
      return take(error);
    });
    sender.send(5);
    expect(await reading).toBe(error);
    sender.send(5);
    await setImmediate();
    expect(taken).toBe(1);
    expect(budget.inUse).toBe(5);
    expect(sender.isLeft()).toBe(true);
    expect(clock.running).toBe(0);
  });

  it.each([
    ["beside others", 41, { code: "overloaded", retryAfterSeconds: 1 }],
    ["at all", 50, { code: "request_too_large", status: 413 }],
  ])("is refused in the middle if its bytes do not fit %s", async (_where, last, error) => {
    const sender = create();
    const { read, clock, budget } = open(sender.body, 100);
    budget.open("you", 0)?.add(9);
    const reading = read();
    sender.send(51);
    await setImmediate();
    expect(budget.inUse).toBe(60);
    sender.send(last);
    expect(await reading).toMatchObject(error);
    expect(sender.isLeft()).toBe(true);
    expect(clock.running).toBe(0);
  });
});

describe("a body", () => {
  it("that is absent has no bytes and leaves no timer", async () => {
    const { read, clock } = open(null);
    expect(await read()).toBe(0);
    expect(clock.running).toBe(0);
  });

  it("takes no timer before it is read, and none after its end", async () => {
    const { read, clock } = open(ReadableStream.from([new Uint8Array(5)]));
    expect(clock.running).toBe(0);
    expect(await read()).toBe(5);
    expect(clock.running).toBe(0);
  });

  it("that other code reads is an error for the operator", async () => {
    const { body } = webStream();
    (body as ReadableStream<Uint8Array>).getReader();
    expect(await open(body).read()).toMatchObject({ code: "body_already_read" });
  });

  it("that fails says that the client left, with the cause", async () => {
    const cause = new Error("gone");
    // oxlint-disable-next-line require-yield -- it fails before it has a chunk
    async function* failing(): AsyncGenerator<Uint8Array> {
      throw cause;
    }
    expect(await open(failing()).read()).toMatchObject({ code: "client_closed_request", cause });
  });
});
