import type { GatewayResponse } from "../http.js";
import type { Logger } from "../logger.js";
import { detectBody } from "../upstream/body-kind.js";
import {
  type ChunkFlow,
  ChunkReader,
  type ChunkSink,
  type ChunkStage,
  openFlow,
  StagedFlow,
} from "../util/chunk-flow.js";
import { joinChunks } from "../util/join-chunks.js";
import { toOneLine } from "../util/one-line.js";
import { encodeText } from "../util/utf8.js";
import { Relay } from "./relay.js";
import { HEARTBEAT } from "./sse.js";
import type { StreamClient } from "./stream-client.js";

/** What {@link beginEarly} needs beside the response. */
export interface EarlyStreamOptions {
  /** After this time without data a comment is sent. */
  readonly heartbeatMs: number;
  /** Learns that the client has disconnected. */
  readonly client: StreamClient;
  readonly logger: Logger;
}

/**
 * Returns the body of a stream that begins before its response is there. It sends a comment at once and after each silent
 * period. When the response is there, its events follow unchanged. An error becomes an `error` event. A JSON body becomes
 * one event whose data is that JSON on one line.
 *
 * If the client disconnects while there is no response, the response is ended when it is there, as a host would do.
 *
 * @param response must not reject
 */
export function beginEarly(
  response: Promise<GatewayResponse>,
  { heartbeatMs, client, logger }: EarlyStreamOptions,
): ChunkReader {
  let isEarly = true;
  return new Relay(new ChunkReader(new LaterEvents(response, client, logger)), {
    first: [encodeText(HEARTBEAT)],
    pass(chunk) {
      isEarly = false;
      return chunk;
    },
    // The response has comments of its own.
    beat: () => (isEarly ? [encodeText(HEARTBEAT)] : []),
    heartbeatMs,
  });
}

/** The events of a response that is not there yet. */
class LaterEvents implements ChunkFlow {
  /** `undefined` when the response is there, so that nothing of the early phase is retained. */
  #client: StreamClient | undefined;
  readonly #logger: Logger;
  #events: ChunkFlow | undefined;
  /** What waits for the response. */
  #sink: ChunkSink | undefined;
  #hasLeft = false;

  constructor(response: Promise<GatewayResponse>, client: StreamClient, logger: Logger) {
    this.#client = client;
    this.#logger = logger;
    void response.then(this.#open);
  }

  flow(sink: ChunkSink): void {
    if (this.#events === undefined) this.#sink = sink;
    else this.#events.flow(sink);
  }

  /** The client has disconnected. Does not wait for the response. */
  async leave(): Promise<void> {
    this.#hasLeft = true;
    this.#client?.leave();
    try {
      await this.#events?.leave();
    } catch (err) {
      this.#logger.error({ err }, "The response of a client that disconnected could not be ended.");
    }
  }

  readonly #open = (response: GatewayResponse): void => {
    this.#client = undefined;
    this.#events = openEvents(response);
    if (this.#hasLeft) void this.leave();
    else if (this.#sink !== undefined) this.#events.flow(this.#sink);
    this.#sink = undefined;
  };
}

/** Opens the body of a response as events. */
function openEvents({ status, headers, body }: GatewayResponse): StagedFlow {
  const isFailed = status >= 400;
  const isJson = isFailed || headers["content-type"]?.startsWith("text/event-stream") !== true;
  const stage = new EventStage(isJson, isFailed ? "event: error\ndata: " : "data: ");
  return new StagedFlow(openFlow(body), stage);
}

/** Converts a body to events. */
class EventStage implements ChunkStage {
  /** False if the body is labelled as events. If its first bytes are JSON, it is converted as well. */
  #isJson: boolean;
  /** What comes before JSON: the fields of its event, up to the beginning of its data. */
  readonly #prefix: string;
  /** The first chunks, until they tell the kind of the body: at most about a kilobyte. `undefined` then. */
  #start: Uint8Array[] | undefined = [];

  constructor(isJson: boolean, prefix: string) {
    this.#isJson = isJson;
    this.#prefix = prefix;
  }

  push(chunk: Uint8Array): Uint8Array | readonly Uint8Array[] {
    if (this.#start === undefined) return this.#isJson ? toOneLine(chunk) : chunk;
    // A comment of the relay tells nothing about the body.
    if (this.#start.length === 0 && isHeartbeat(chunk)) return chunk;
    this.#start.push(chunk);
    const kind = detectBody(this.#start);
    return kind === undefined ? [] : this.#begin(this.#start, this.#isJson || kind === "json");
  }

  end(): readonly Uint8Array[] {
    const start = this.#start ?? [];
    const isEmpty = start.length === 0 && !this.#isJson;
    const rest = this.#start === undefined || isEmpty ? [] : this.#begin(start, this.#isJson);
    return this.#isJson ? [...rest, encodeText("\n\n")] : rest;
  }

  #begin(start: readonly Uint8Array[], isJson: boolean): readonly Uint8Array[] {
    this.#start = undefined;
    this.#isJson = isJson;
    const bytes = withoutMark(joinChunks(start));
    return [isJson ? joinChunks([encodeText(this.#prefix), toOneLine(bytes)]) : bytes];
  }
}

const HEARTBEAT_BYTES = encodeText(HEARTBEAT);

function isHeartbeat(chunk: Uint8Array): boolean {
  return (
    chunk.length === HEARTBEAT_BYTES.length && chunk.every((byte, index) => byte === HEARTBEAT_BYTES[index])
  );
}

/** Removes a byte order mark, which is allowed only at the beginning of a stream. */
function withoutMark(bytes: Uint8Array): Uint8Array {
  const [first, second, third] = bytes;
  return first === 0xef && second === 0xbb && third === 0xbf ? bytes.subarray(3) : bytes;
}
