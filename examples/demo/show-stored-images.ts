import type OpenAI from "openai";
import { formatTable } from "./format-table.ts";
import { KEYS } from "./options.ts";
import { openClient, type Stage } from "./stage.ts";

/** Opens a link of the provider and a link of the gateway before and after the provider has lost its images. */
export async function showStoredImages(stage: Stage): Promise<void> {
  const client = openClient(stage, KEYS.webShop);
  // The paths of the providers return the providers' own links.
  const ownPath = client.withOptions({ baseURL: stage.app.baseUrl.replace(/\/v1$/, "/api/v3") });
  const links = [await makeLink(ownPath), await makeLink(client)];

  const before = await Promise.all(links.map(openLink));
  await stage.restartProviders();
  const after = await Promise.all(links.map(openLink));

  const rows = ["Ark's link, from /api/v3", "stored link, from /v1"].map((name, index) => [
    name,
    before[index] ?? "",
    after[index] ?? "",
  ]);
  console.log(formatTable(["link", "before", "after Ark restarts"], rows));
}

async function makeLink(client: OpenAI): Promise<string> {
  const request = {
    model: "seedream-4-0-250828",
    prompt: "A letter in an envelope",
    size: "1024x1024",
  } as const;
  const { data } = await client.images.generate(request);
  return data?.[0]?.url ?? "";
}

/** Opens a link without an API key, on a connection of its own: a restart ends the connections that are open. */
async function openLink(link: string): Promise<string> {
  const response = await fetch(link, { headers: { connection: "close" } });
  const { length } = await response.bytes();
  return response.ok
    ? `${response.status}, ${response.headers.get("content-type")}, ${length} bytes`
    : String(response.status);
}
