import type { Transport, TransportRequest, TransportResponse } from "@calotype/core/testing";
import type { Build } from "./load-build.ts";
import { describeBytes } from "./record-calls.ts";
import type { Reply, Scenario } from "./scenario.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** What the provider of a scenario needs. */
interface ProviderParts {
  readonly time: VirtualTime;
  readonly TransportError: Build["TransportError"];
  /** Gets each call as text. */
  readonly note: (call: string) => void;
}

/** Larger bodies are noted by their hash. */
const MAX_NOTED_BYTES = 8_000;

/** Providers that respond as the scenario says, in turn. */
export function createScriptedProvider(
  scenario: Scenario,
  { time, TransportError, note }: ProviderParts,
): Transport {
  const turns = new Map<string, number>();
  const takeReply = (name: string, replies: readonly Reply[] = []): Reply => {
    const turn = turns.get(name) ?? 0;
    turns.set(name, turn + 1);
    return replies[turn % replies.length] ?? { afterMs: 0, status: 500, headers: {}, chunks: [] };
  };
  const open = new Set<AbortController>();

  const respond = async (reply: Reply): Promise<TransportResponse> => {
    const controller = new AbortController();
    const { signal } = controller;
    open.add(controller);
    const wait = async (ms: number): Promise<void> => {
      await time.sleep(ms, signal);
      if (signal.aborted) throw new TransportError("broken", undefined);
    };
    await wait(reply.afterMs);
    if (reply.noResponse !== undefined) throw new TransportError(reply.noResponse, undefined);
    async function* read(): AsyncGenerator<Uint8Array> {
      for (const { afterMs, bytes } of reply.chunks) {
        await wait(afterMs);
        // A copy, because the gateway may keep or free the chunk.
        yield Uint8Array.from(bytes);
      }
      if (reply.breaks !== undefined) throw new TransportError(reply.breaks, undefined);
    }
    return {
      status: reply.status,
      headers: { get: (name) => reply.headers[name.toLowerCase()] ?? null },
      body: read(),
      cancel: () => controller.abort(),
    };
  };

  return {
    async send({ method = "POST", url, headers, body }: TransportRequest) {
      note(`${method} ${url} ${JSON.stringify(headers)} ${await readBody(body)}`);
      const [host = ""] = new URL(url).hostname.split(".");
      const name = method === "GET" ? `${host} poll` : host;
      return respond(takeReply(name, scenario.replies[name]));
    },
    async download({ url }) {
      note(`download ${url}`);
      return respond(takeReply("download", scenario.downloads));
    },
    close: () => Promise.resolve(),
    async abort() {
      for (const controller of open) controller.abort();
    },
  };
}

async function readBody(body: TransportRequest["body"]): Promise<string> {
  if (body === undefined) return "";
  const chunks: Uint8Array[] = [];
  if (typeof body === "string") chunks.push(Buffer.from(body));
  else for await (const chunk of body) chunks.push(Buffer.from(chunk));
  const bytes = Buffer.concat(chunks);
  return bytes.length > MAX_NOTED_BYTES ? describeBytes(bytes) : bytes.toString("latin1");
}
