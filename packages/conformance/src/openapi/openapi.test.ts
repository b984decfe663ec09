import { writeFileSync } from "node:fs";
import { openApiDocument } from "@calotype/core/openapi";
import { toNodeHandler } from "@calotype/node";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { describe, expect, it, onTestFinished } from "vitest";
import { listen } from "../support/listen.js";
import { run } from "../support/run.js";
import { CALLER_KEY, SEEDREAM, startGateway } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { ROOT } from "../support/workspace.js";
import { generateTypes } from "./generate-types.js";

/** The client of the fixtures, which needs the generated types to compile. */
interface ClientModule {
  readonly useClient: (
    baseUrl: string,
    caller: { readonly key: string; readonly model: string },
  ) => Promise<Readonly<Record<"models" | "urls" | "sizes" | "code" | "task", unknown>>>;
}

const providers = useProviders();

async function serve(options: Parameters<typeof startGateway>[1] = {}): Promise<string> {
  const { gateway } = startGateway(providers(), { openapi: true, ...options });
  const { url, close } = await listen(toNodeHandler(gateway));
  onTestFinished(close);
  return url;
}

describe("the OpenAPI document", () => {
  it("is served without a key, with the place of the gateway, and may be kept for a while", async () => {
    const origin = await serve({ basePath: "/ai" });
    const response = await fetch(`${origin}/ai/openapi.json`);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "application/json",
      "cache-control": "public, max-age=300",
    });
    expect(await response.json()).toEqual({ ...openApiDocument, servers: [{ url: "/ai" }] });
  });

  it("has no problem that the linter finds", async () => {
    const source = JSON.stringify({ servers: [{ url: "/" }], ...openApiDocument });
    const config = await createConfig({ extends: ["recommended"] });
    const found = await lintFromString({ source, config });
    // The linter does not know the extension that names the schemas of events.
    const maps = source.match(/(?<="x-events":)\{.*?\}\}/g) ?? [];
    const events = new Set(maps.flatMap((map) => map.match(/#[\w/]+/g) ?? []));
    const problems = found.filter(({ location: [place] }) => !events.has(place?.pointer ?? ""));
    expect(
      problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`),
    ).toEqual([]);
  });

  it("gives a typed client, which compiles and works", async () => {
    const folder = `${ROOT}/packages/conformance/fixtures/openapi-client`;
    writeFileSync(`${folder}/paths.d.ts`, await generateTypes(openApiDocument));

    const tsc = `${ROOT}/node_modules/typescript/bin/tsc`;
    expect(run(process.execPath, [tsc, "-p", folder, "--pretty", "false"], ROOT)).toBe("");

    const { useClient }: ClientModule = await import(`${folder}/client.ts`);
    const { models, urls, sizes, code, task } = await useClient(await serve(), {
      key: CALLER_KEY,
      model: SEEDREAM,
    });
    expect(models).toContain(SEEDREAM);
    expect(urls).toEqual([expect.stringMatching(/^http/), expect.stringMatching(/^http/)]);
    expect(sizes).toEqual(["1024x1024", "1024x1024"]);
    expect(code).toBe("model_not_found");
    expect(task).toBe("completed");
  });
});
