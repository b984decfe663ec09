import { describe, expect, it } from "vitest";
import type { ChunkSink } from "./chunk-flow.js";
import { ChunkQueue } from "./chunk-queue.js";

interface Opened {
  readonly queue: ChunkQueue;
  /** What the queue asked of its source, and what the sink got. */
  readonly events: string[];
  readonly sink: ChunkSink;
}

/** @param accepts whether the sink takes more after a chunk */
function open(accepts: (name: string) => boolean = () => true): Opened {
  const events: string[] = [];
  const note = (event: string) => () => void events.push(event);
  const queue = new ChunkQueue({
    start: note("start"),
    pause: note("pause"),
    resume: note("resume"),
    leave: note("leave"),
  });
  const sink: ChunkSink = {
    chunk(chunk) {
      const name = String(chunk[0]);
      events.push(name);
      return accepts(name);
    },
    end: note("end"),
    fail: (error) => void events.push(String(error)),
  };
  return { queue, events, sink };
}

const chunk = (name: number, length = 1): Uint8Array => new Uint8Array(length).fill(name);

describe("a sink of a queue", () => {
  it("gets the waiting chunks and all that follow, at once, and then the end", () => {
    const { queue, events, sink } = open();
    queue.push(chunk(1));
    queue.flow(sink);
    expect(events).toEqual(["start", "1", "resume"]);
    queue.push(chunk(2));
    queue.end();
    expect(events).toEqual(["start", "1", "resume", "2", "end"]);
  });

  it("gets nothing more after it returned false, until it asks again", () => {
    const { queue, events, sink } = open((name) => name !== "1");
    queue.flow(sink);
    for (const name of [1, 2, 3]) queue.push(chunk(name));
    expect(events).toEqual(["start", "resume", "1"]);
    queue.flow(sink);
    expect(events).toEqual(["start", "resume", "1", "2", "3"]);
  });

  it("that waits pauses its source when too many bytes arrive, and resumes it when it has read them", () => {
    const { queue, events, sink } = open((name) => name !== "1");
    queue.flow(sink);
    queue.push(chunk(1));
    queue.push(chunk(2, 300_000));
    queue.flow(sink);
    expect(events).toEqual(["start", "resume", "1", "pause", "2", "resume"]);
  });

  it.each<[string, (queue: ChunkQueue) => void, string]>([
    ["the end", (queue) => queue.end(), "end"],
    ["an error", (queue) => queue.fail("cut"), "cut"],
  ])("gets %s after the chunks before it, also if it came while the sink waited", (_what, end, event) => {
    const { queue, events, sink } = open((name) => name !== "1");
    queue.flow(sink);
    for (const name of [1, 2]) queue.push(chunk(name));
    end(queue);
    queue.flow(sink);
    expect(events).toEqual(["start", "resume", "1", "2", event]);
  });

  it("gets an error at once", () => {
    const { queue, events, sink } = open();
    queue.flow(sink);
    queue.fail("cut");
    expect(events).toEqual(["start", "resume", "cut"]);
  });

  it("is not called any more after the reader has left, and the source is left once", () => {
    const { queue, events, sink } = open();
    queue.flow(sink);
    queue.leave();
    queue.leave();
    queue.push(chunk(1));
    queue.end();
    expect(events).toEqual(["start", "resume", "leave"]);
  });

  it("may leave while it takes a chunk", () => {
    const { queue, events, sink } = open();
    for (const name of [1, 2]) queue.push(chunk(name));
    queue.flow({
      ...sink,
      chunk(taken) {
        queue.leave();
        sink.chunk(taken);
        return false;
      },
    });
    expect(events).toEqual(["start", "leave", "1"]);
  });
});
