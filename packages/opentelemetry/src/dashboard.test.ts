import { readFileSync } from "node:fs";
import { expect, it, vi } from "vitest";
import { createObservedGateway, RESPONSE, registerSdk } from "./testing/setup.js";

interface Dashboard {
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
  }[];
}

const file = new URL("../../../docs/telemetry-dashboard.json", import.meta.url);
const dashboard = JSON.parse(readFileSync(file, "utf8")) as Dashboard;
const queries = dashboard.panels.flatMap(({ title, targets }) =>
  targets.map(({ expr }) => ({ title, expr })),
);

/** A selector of a query: a pattern of the metric's name, and the labels that the query uses. */
function readQuery(expr: string): {
  readonly metrics: readonly RegExp[];
  readonly labels: readonly string[];
} {
  const grouped = [...expr.matchAll(/by \(([^)]+)\)/g)].flatMap(([, list = ""]) => list.split(", "));
  const matched = [...expr.matchAll(/(\w+)(?:=~|!=|!~|=)"/g)].map(([, label = ""]) => label);
  const selectors = expr.replaceAll(/by \([^)]+\)/g, "");
  const byPattern = [...selectors.matchAll(/__name__=~"([^"]+)"/g)].map(([, name = ""]) => name);
  const byName = [...selectors.matchAll(/\b((?:calotype|gen_ai)_\w+)(?=[{[)])/g)].map(
    ([, name = ""]) => name,
  );
  return {
    metrics: [...byPattern, ...byName].map((name) => new RegExp(`^${name}$`)),
    labels: [...grouped, ...matched].filter((label) => label !== "__name__"),
  };
}

/** Collects the metrics of a gateway with successes, failures, refusals and cooldowns. */
async function collectSeries(): Promise<readonly { readonly name: string; readonly labels: string }[]> {
  const sdk = registerSdk();
  const { post } = createObservedGateway(
    ({ url }) =>
      url.includes("first")
        ? Response.json({ error: { code: "AuthenticationError" } }, { status: 401 })
        : Response.json({ ...RESPONSE }),
    { limits: { requestsPerMinute: 2 } },
  );
  for (let index = 0; index < 3; index += 1) await (await post()).text();
  await vi.waitFor(() =>
    expect(sdk.spans().filter(({ name }) => name.startsWith("generate"))).toHaveLength(3),
  );
  const lines = (await sdk.prometheus()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return lines.map((line) => {
    const [, name = "", labels = ""] = /^(\w+)(?:\{(.*)\})? /.exec(line) ?? [];
    return { name, labels };
  });
}

it("the dashboard uses metrics and labels that the gateway has", async () => {
  const series = await collectSeries();
  expect(queries.length).toBeGreaterThan(12);
  for (const { title, expr } of queries) {
    const { metrics, labels } = readQuery(expr);
    expect({ title, count: metrics.length }).not.toEqual({ title, count: 0 });
    for (const metric of metrics) {
      const found = series.filter(({ name }) => metric.test(name));
      expect(found, `${title}: ${metric.source}`).not.toEqual([]);
      const known = found.map((one) => one.labels).join(",");
      for (const label of labels) expect(known, `${title}: ${label}`).toContain(`${label}="`);
    }
  }
});

it("the panels have ids of their own", () => {
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
});

it("docs/telemetry.md lists every metric and every attribute", async () => {
  const page = readFileSync(new URL("../../../docs/telemetry.md", import.meta.url), "utf8");
  const { ATTRIBUTES } = await import("./names.js");
  const missing = Object.values(ATTRIBUTES).filter((name) => !page.includes(`\`${name}\``));
  expect(missing).toEqual([]);
  const written = page.replaceAll(".", "_");
  const names = (await collectSeries()).map(({ name }) => name.replace(/_(?:total|bucket|sum|count)$/, ""));
  const unlisted = new Set(names.filter((name) => !written.includes(`\`${name}\``)));
  unlisted.delete("target_info");
  expect([...unlisted]).toEqual([]);
});
