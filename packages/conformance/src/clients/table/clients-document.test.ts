import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT, readText } from "../../support/workspace.js";
import type { Client } from "./client.js";
import { CLIENTS, PROFILES } from "./clients.js";
import { OPEN_WEBUI } from "./open-webui.js";
import { renderClient, renderOverview } from "./render-tables.js";
import { type Result, runClient } from "./run-clients.js";
import { type ServedModels, serveModels } from "./serve-models.js";

const BEGIN = "<!-- Written by the tests from what the clients get: vitest --update -->\n\n";
const END = "<!-- End of what the tests write -->\n";
const TIMEOUT = { timeout: 120_000 };

let served: ServedModels;
beforeAll(async () => {
  served = await serveModels(PROFILES);
});
afterAll(() => served.close());

const runs = new Map<Client, Promise<readonly Result[]>>();

/** Each client runs once. */
function resultsOf(client: Client): Promise<readonly Result[]> {
  const run = runs.get(client) ?? runClient(client, served);
  runs.set(client, run);
  return run;
}

async function resultsOfAll(clients: readonly Client[]): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const client of clients) results.push(...(await resultsOf(client)));
  return results;
}

/** The document with these tables in place of its own. */
function withTables(path: string, tables: string): string {
  const [head, rest = ""] = readText(path).split(BEGIN);
  const [, tail] = rest.split(END);
  return `${head}${BEGIN}${tables}\n${END}${tail}`;
}

describe("a client whose profile is set", () => {
  it.each(CLIENTS)(
    "gets all that its user asks for, except what its description names: $name",
    TIMEOUT,
    async (client) => {
      const results = await resultsOf(client);

      const missing = results.filter(({ hasProfile, scenario, got }) => hasProfile && !scenario.isDone(got));
      const exceptions = new Set(Object.keys(client.exceptions ?? {}));
      const unexpected = missing.filter(
        ({ scenario: { title }, model }) => !exceptions.has(title) && !exceptions.has(`${title}: ${model}`),
      );
      expect(unexpected.map(({ scenario: { title }, model, got }) => ({ title, model, got }))).toEqual([]);
      const named = missing.flatMap(({ scenario: { title }, model }) => [title, `${title}: ${model}`]);
      expect(named).toEqual(expect.arrayContaining([...exceptions]));
    },
  );
});

describe("a size that the model does not have", () => {
  it.each(CLIENTS.filter(({ path, sizes }) => path === "/v1" && sizes.length > 0))(
    "becomes a size of the same shape: $name",
    TIMEOUT,
    async (client) => {
      const results = await resultsOf(client);

      const shapes = results.flatMap(({ hasProfile, scenario: { title }, got }) => {
        const requested = toShape(title.replace("Size ", ""));
        if (!hasProfile || requested === undefined || !("sizes" in got)) return [];
        return [{ title, requested, made: toShape(got.sizes[0] ?? "") ?? 0 }];
      });
      expect(shapes.length).toBeGreaterThan(0);
      expect(shapes.filter(({ requested, made }) => Math.abs(made / requested - 1) > 0.01)).toEqual([]);
    },
  );
});

/** Width by height of `<width>x<height>`. */
function toShape(size: string): number | undefined {
  const [, width, height] = /^(\d+)x(\d+)$/.exec(size) ?? [];
  return width === undefined ? undefined : Number(width) / Number(height);
}

describe("the pages of docs/clients", () => {
  it.each(PROFILES)("show what the client gets: %s.md", TIMEOUT, async (profile) => {
    const clients = CLIENTS.filter((client) => client.profile === profile);
    const tables: string[] = [];
    for (const client of clients) tables.push(renderClient(client, await resultsOf(client)));

    const path = `docs/clients/${profile}.md`;
    await expect(withTables(path, tables.join("\n"))).toMatchFileSnapshot(join(ROOT, path));
  });

  it("show the overview of all clients: README.md", TIMEOUT, async () => {
    const results = await resultsOfAll(CLIENTS);
    const tables = [
      "### With the profile\n",
      renderOverview(results, true),
      "### Without a profile\n",
      renderOverview(results, false),
    ];

    const path = "docs/clients/README.md";
    await expect(withTables(path, tables.join("\n"))).toMatchFileSnapshot(join(ROOT, path));
  });
});

describe("Open WebUI", () => {
  it("does not send the caller's key to the provider, whatever the model's name is", TIMEOUT, async () => {
    expect(await keysAtProvider("open-webui")).toEqual([]);
  });

  it("sends it without the profile, and so the profile requests base64", TIMEOUT, async () => {
    expect(await keysAtProvider()).toEqual([`Bearer ${served.connect("Seedream 5.0 Pro").apiKey}`]);
  });
});

/** The keys in requests for links. Open WebUI leaves `response_format` out if the model's name begins with `gpt-image`. */
async function keysAtProvider(profile?: "open-webui"): Promise<readonly (string | null)[]> {
  const { gptImage1, ...connection } = served.connect("Seedream 5.0 Pro", profile);
  const before = served.downloads.length;
  await OPEN_WEBUI.generate(
    { ...connection, gptImage1, model: gptImage1 },
    { prompt: "a kite", size: "1024x1024" },
  );
  return served.downloads.slice(before).map(({ headers }) => headers.get("authorization"));
}
