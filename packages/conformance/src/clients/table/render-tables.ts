import { type Client, MODEL_KEYS } from "./client.js";
import { COLUMNS, type Column, type Result } from "./run-clients.js";

/** One line for each client: in how many of the tries of each column the user gets what was asked for. */
export function renderOverview(results: readonly Result[], hasProfile: boolean): string {
  const tried = results.filter((result) => result.hasProfile === hasProfile);
  const rows = [...groupBy(tried, ({ client }) => client)].map(([client, ofClient]) => [
    `[${client.name}](${client.profile}.md)`,
    `\`${client.path}\``,
    ...COLUMNS.map((column) => renderCount(ofClient, column)),
  ]);
  return renderTable([["Client", "Path", ...COLUMNS], ...rows]);
}

function renderCount(results: readonly Result[], column: Column): string {
  const tries = results.filter(({ scenario }) => scenario.column === column);
  if (tries.length === 0) return "–";
  const done = tries.filter(({ scenario, got }) => scenario.isDone(got));
  return `${done.length} of ${tries.length}`;
}

/** What the user of a client gets from each scenario with each model: without the profile, and with it. */
export function renderClient(client: Client, results: readonly Result[]): string {
  const models = client.models ?? MODEL_KEYS;
  const head = ["", ...models.flatMap((model) => [model, `${model}, \`${client.profile}\``])];
  const rows = [...groupBy(results, ({ scenario }) => scenario.title)].map(([title, ofScenario]) => [
    title,
    ...models.flatMap((model) =>
      [false, true].map((hasProfile) => {
        const result = ofScenario.find((each) => each.model === model && each.hasProfile === hasProfile);
        return result === undefined ? "–" : renderGot(result);
      }),
    ),
  ]);
  const exceptions = Object.entries(client.exceptions ?? {}).map(
    ([title, reason]) => `- ${title}: ${reason}`,
  );
  return [
    `### ${client.name.replaceAll("`", "")}`,
    "",
    `Path \`${client.path}\`. Source: ${client.source}.`,
    "",
    renderTable([head, ...rows]),
    ...(exceptions.length > 0 ? ["Not complete with the profile:\n", ...exceptions, ""] : []),
  ].join("\n");
}

function renderGot({ got, scenario }: Result): string {
  if (scenario.column === "Reason of an error") return scenario.isDone(got) ? "shown" : "not shown";
  if ("names" in got) return got.names.length === 0 ? "not listed" : "listed";
  if ("status" in got) return got.status >= 400 ? `refused (${got.status})` : "no image";
  if (got.sizes.length === 0) return "no image";
  const counts = [...groupBy(got.sizes, (size) => size)].map(([size, same]) => `${same.length} × ${size}`);
  return counts.join(", ");
}

function renderTable([head = [], ...rows]: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

function groupBy<Value, Key>(values: readonly Value[], toKey: (value: Value) => Key): Map<Key, Value[]> {
  const groups = new Map<Key, Value[]>();
  for (const value of values) groups.set(toKey(value), [...(groups.get(toKey(value)) ?? []), value]);
  return groups;
}
