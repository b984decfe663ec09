import { randomUUID } from "node:crypto";
import { KEYS } from "./options.ts";
import { openClient, type Stage } from "./stage.ts";

/** Sends a request twice, as a client does that does not know whether the first one arrived. It is charged once. */
export async function showRepeat(stage: Stage): Promise<void> {
  const client = openClient(stage, KEYS.webShop);
  const headers = { "Idempotency-Key": randomUUID() };
  const send = (): Promise<{ url: string | undefined; response: Response }> =>
    client.images
      .generate({ model: "seedream-4-5-251128", prompt: "A sailing boat in a bottle" }, { headers })
      .withResponse()
      .then(({ data, response }) => ({ url: data.data?.[0]?.url, response }));

  const before = await readSpent(stage);
  const first = await send();
  const between = await readSpent(stage);
  const second = await send();
  const after = await readSpent(stage);

  const replayed = second.response.headers.get("idempotent-replayed");
  const image = second.url === first.url ? "the same image" : "another image";
  console.log(`  first:  ${first.response.status}; web-shop has spent ${between}, before it ${before}`);
  console.log(
    `  repeat: ${second.response.status} with idempotent-replayed: ${replayed}, ${image}; spent ${after}`,
  );
}

async function readSpent({ app }: Stage): Promise<string | undefined> {
  const { callers } = await app.readOperatorPage();
  return callers.find(({ key }) => key === "web-shop")?.settled;
}
