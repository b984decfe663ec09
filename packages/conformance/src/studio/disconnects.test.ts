import { setTimeout as wait } from "node:timers/promises";
import type { HistoryLedger, Ledger } from "@calotype/core/stores";
import { toNodeHandler } from "@calotype/node";
import { createStudio } from "@calotype/studio";
import { describe, expect, it, onTestFinished } from "vitest";
import { listen } from "../support/listen.js";
import { startGateway } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { fillLedger } from "./fill-ledger.js";

const NOW = Date.now();
const FROM = new Date(NOW - 30 * 86_400_000).toISOString();
const TO = new Date(NOW + 3_600_000).toISOString();
const OWN_PAGE = {
  "x-calotype-studio": "1",
  "sec-fetch-site": "same-origin",
  "content-type": "application/json",
};

function readExport(url: string, signal?: AbortSignal): Promise<Response> {
  return fetch(`${url}/records/export?format=jsonl&from=${FROM}&to=${TO}`, { signal: signal ?? null });
}

function reprice(url: string, signal: AbortSignal): Promise<Response> {
  const body = JSON.stringify({ from: FROM, to: TO, tables: { model_details: {} } });
  return fetch(`${url}/prices/reprice`, { method: "POST", headers: OWN_PAGE, body, signal });
}

describe("a client that leaves in the middle", () => {
  const providers = useProviders();

  /** A studio whose ledger has no end, and counts what is read of it. */
  async function open({ failsAt = Infinity } = {}) {
    const ledger: Ledger & Partial<HistoryLedger> = await fillLedger(NOW);
    const { history } = ledger;
    if (history === undefined) throw new Error("The ledger keeps no records.");
    let reads = 0;
    const read = async (): Promise<void> => {
      await wait(5);
      reads += 1;
      if (reads >= failsAt) throw new Error("database-canary");
    };
    const endless: Ledger & HistoryLedger = {
      ...ledger,
      history: {
        ...history,
        async *list(query) {
          for (;;) {
            await read();
            yield* history.list(query);
          }
        },
      },
      async *records(filter) {
        for (;;) {
          await read();
          for (let index = 0; index < 5; index++) yield* ledger.records(filter);
        }
      },
    };
    const lines: string[] = [];
    const log = (_fields: object, message: string): void => void lines.push(message);
    const { gateway } = startGateway(providers(), { ledger: endless });
    const studio = createStudio(gateway, { authorize: () => "admin", logger: { warn: log, error: log } });
    const { url, close } = await listen(toNodeHandler(studio));
    onTestFinished(close);
    return { url: `${url}/studio/api`, lines, reads: () => reads };
  }

  it.each([
    ["an export", readExport],
    ["a computation with other prices", reprice],
  ])("ends %s", async (_what, send) => {
    const { url, reads, lines } = await open();
    const leaving = new AbortController();

    const { status, body } = await send(url, leaving.signal);
    const reader = body?.getReader();
    await reader?.read();
    leaving.abort();
    const countReads = async (): Promise<number> => {
      const before = reads();
      await wait(300);
      return reads() - before;
    };
    await expect.poll(countReads).toBe(0);
    expect([status, lines]).toEqual([200, []]);
  });

  it("an export that fails in the middle breaks off, and the log says why", async () => {
    const { url, lines } = await open({ failsAt: 3 });

    const response = await readExport(url);

    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow("terminated");
    expect(lines).toEqual(["Records could not be exported."]);
  });
});
