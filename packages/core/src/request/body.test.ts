import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createByteBudget } from "../admission/byte-budget.js";
import { createManualClock } from "../testing/manual-clock.js";
import { type IncomingBody, openBody } from "./body.js";

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

interface Opened {
  readonly incoming: IncomingBody;
  readonly clock: ReturnType<typeof createManualClock>;
  readonly budget: ReturnType<typeof createByteBudget>;
}

function open(body: AsyncIterable<Uint8Array> | null, maxBytes = 1_000_000): Opened {
  const clock = createManualClock();
  const budget = createByteBudget({ maxBytes, maxCallerShare: 0.5, now: () => 0 });
  const bytes = budget.open("me", 0);
  if (bytes === undefined) throw new Error("The budget has no room.");
  const pace = { minBytesPerSecond: RATE, seconds: SECONDS, repeat: clock.repeat };
  return { incoming: openBody({ body }, { bytes, pace }), clock, budget };
}

/** Reads a body to its end. Returns its length, or the error. */
async function readAll(incoming: IncomingBody): Promise<unknown> {
  let length = 0;
  try {
    for (let chunk = await incoming.next(); chunk !== undefined; chunk = await incoming.next()) {
      length += chunk.length;
    }
    return length;
  } catch (error) {
    return error;
  } finally {
    incoming.cancel();
  }
}

const SLOW = { code: "request_timeout", status: 408 };

describe.each([
  ["a Web stream", webStream],
  ["an iterator that never returns", stuckIterator],
])("a body that is %s", (_what, create) => {
  it("and sends nothing is a 408 after 20 seconds, and not before", async () => {
    const sender = create();
    const { incoming, clock } = open(sender.body);
    let outcome: unknown;
    const reading = readAll(incoming).then((value) => (outcome = value));
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
    const { incoming, clock, budget } = open(sender.body);
    const reading = readAll(incoming);
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
    const { incoming, clock } = open(sender.body);
    let outcome: unknown;
    void readAll(incoming).then((value) => (outcome = value));
    for (let burst = 0; burst < 30; burst++) {
      sender.send(RATE * 10);
      await clock.tick(10);
    }
    expect(outcome).toBeUndefined();
    incoming.cancel();
  });

  it("may take any time while the gateway does not wait for it", async () => {
    const sender = create();
    const { incoming, clock } = open(sender.body);
    sender.send(1);
    expect(await incoming.next()).toHaveLength(1);
    await clock.tick(100);
    sender.send(1);
    expect(await incoming.next()).toHaveLength(1);
    incoming.cancel();
    expect(clock.running).toBe(0);
  });

  it("can be cancelled at any time; later bytes are neither counted nor returned", async () => {
    const sender = create();
    const { incoming, clock, budget } = open(sender.body);
    const reading = readAll(incoming);
    await setImmediate();
    incoming.cancel();
    expect(await reading).toMatchObject({ code: "client_closed_request" });
    expect(sender.isLeft()).toBe(true);
    expect(clock.running).toBe(0);
    expect(budget.inUse).toBe(0);
  });

  it("is refused in the middle if its bytes do not fit", async () => {
    const sender = create();
    const { incoming, clock, budget } = open(sender.body, 100);
    const reading = readAll(incoming);
    sender.send(60);
    await setImmediate();
    expect(budget.inUse).toBe(60);
    sender.send(41);
    expect(await reading).toMatchObject({ code: "overloaded", retryAfterSeconds: 1 });
    expect(sender.isLeft()).toBe(true);
    expect(clock.running).toBe(0);
  });
});

describe("a body", () => {
  it("that is absent has no bytes and leaves no timer", async () => {
    const { incoming, clock } = open(null);
    expect(await readAll(incoming)).toBe(0);
    expect(clock.running).toBe(0);
  });

  it("takes no timer before it is read, and none after its end", async () => {
    const { incoming, clock } = open(ReadableStream.from([new Uint8Array(5)]));
    expect(clock.running).toBe(0);
    expect(await readAll(incoming)).toBe(5);
    expect(clock.running).toBe(0);
  });

  it("that other code reads is an error for the operator", () => {
    const { body } = webStream();
    (body as ReadableStream<Uint8Array>).getReader();
    expect(() => open(body)).toThrow(expect.objectContaining({ code: "body_already_read" }));
  });

  it("that fails says that the client left, with the cause", async () => {
    const cause = new Error("gone");
    // oxlint-disable-next-line require-yield -- it fails before it has a chunk
    async function* failing(): AsyncGenerator<Uint8Array> {
      throw cause;
    }
    expect(await readAll(open(failing()).incoming)).toMatchObject({ code: "client_closed_request", cause });
  });
});
