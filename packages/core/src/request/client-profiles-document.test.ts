import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import type { ClientName, Preferences } from "../types.js";
import { CLIENT_PROFILES } from "./client-profiles.js";

const PATH = fileURLToPath(new URL("../../../../docs/configuration.md", import.meta.url));
const BEGIN = "<!-- Written by the tests from the profiles: vitest --update -->\n\n";
const END = "<!-- End of what the tests write -->\n";

/** Why a profile sets more than `sizes`. */
const REASONS: Readonly<Record<ClientName, string>> = {
  openai: "reads one event with base64 for each image of a stream",
  "ai-sdk": "reads only base64 (`@ai-sdk/openai`), and does not request it for edits",
  langchain: "names the format itself",
  "open-webui": "downloads links with the caller's key in a header, so the provider would see the key",
  librechat: "reads only base64",
  lobehub: "reads both formats",
  dify: "reads only base64",
  n8n: "reads only base64 from models that are called `gpt-image…`, and does not request it",
  litellm: "reads both formats",
  comfyui: "calls `/api/v3`, to which profiles do not apply",
};

const COLUMNS: readonly (keyof Preferences)[] = ["responseFormat", "streamFormat", "sizes"];

it("docs/configuration.md shows what each profile sets", async () => {
  const [head, rest = ""] = readFileSync(PATH, "utf8").split(BEGIN);
  const [, tail] = rest.split(END);
  const clients = Object.keys(REASONS) as ClientName[];
  const lines = [
    ["`client`", ...COLUMNS.map((column) => `\`${column}\``), "The program"],
    ["---", ...COLUMNS.map(() => "---"), "---"],
    ...clients.map((client) => [
      `[\`${client}\`](clients/${client}.md)`,
      ...COLUMNS.map((column) => {
        const value = CLIENT_PROFILES[client][column];
        return value === undefined ? "–" : `\`"${value}"\``;
      }),
      `${REASONS[client]}.`,
    ]),
  ];
  const table = lines.map((cells) => `| ${cells.join(" | ")} |\n`).join("");

  expect(new Set(clients)).toEqual(new Set(Object.keys(CLIENT_PROFILES)));
  await expect(`${head}${BEGIN}${table}\n${END}${tail}`).toMatchFileSnapshot(PATH);
});
