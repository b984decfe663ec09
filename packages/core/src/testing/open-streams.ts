import { createScriptedSource, type ScriptedSource } from "./scripted-source.js";
import type { Provider } from "./test-gateway.js";

/** A provider that responds to each call with a stream, which stays open until the test ends it. */
export interface OpenStreams {
  readonly provider: Provider;
  /** Ends the oldest open stream after one image. */
  finish(): void;
  /** Breaks off the oldest open stream between two events. */
  breakOff(): void;
}

const ONE_IMAGE = `event: image_generation.partial_succeeded
data: {"type":"image_generation.partial_succeeded","image_index":0,"url":"https://ark.test/0.png","size":"2048x2048"}

event: image_generation.completed
data: {"type":"image_generation.completed","usage":{"generated_images":1,"output_tokens":16384,"total_tokens":16384}}

`;

export function createOpenStreams(): OpenStreams {
  const sources: ScriptedSource[] = [];
  const take = (): ScriptedSource => {
    const source = sources.shift();
    if (source === undefined) throw new Error("No stream is open.");
    return source;
  };
  return {
    provider() {
      const source = createScriptedSource();
      sources.push(source);
      return new Response(ReadableStream.from(source.body), {
        headers: { "content-type": "text/event-stream" },
      });
    },
    finish() {
      const source = take();
      source.send(ONE_IMAGE);
      source.end();
    },
    breakOff: () => take().fail(new Error("broken")),
  };
}
