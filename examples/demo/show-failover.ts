import type { ChannelStatus } from "@calotype/core/operator";
import { formatTable } from "./format-table.ts";
import { KEYS } from "./options.ts";
import { openClient, type Stage } from "./stage.ts";

/** Lets one of two channels of a model fail. Clients do not notice it. */
export async function showFailover(stage: Stage): Promise<void> {
  const { app, providers } = stage;
  const client = openClient(stage, KEYS.webShop);
  providers.faults.add({ provider: "dashscope", status: 503 });
  for (let request = 1; request <= 4; request++) {
    const asked = providers.requests.length;
    const { response, request_id: id } = await client.images
      .generate({ model: "image-2.0-pro", prompt: "A paper lantern in the rain" })
      .withResponse();
    const { channel } = await app.findRecord(id ?? "");
    const failed =
      providers.requests.length > asked ? "dashscope responded with 503" : "dashscope was not tried";
    console.log(`  request ${request}: ${response.status}, made by ${channel}; ${failed}`);
  }
  providers.faults.clear();
  const { channels } = await app.readOperatorPage();
  console.log(`\n${formatTable(["channel", "state", "reason", "next try"], channels.map(toRow))}`);
}

function toRow({ id, state, reason = "", nextTryAt }: ChannelStatus): string[] {
  const seconds = nextTryAt && Math.ceil((Date.parse(nextTryAt) - Date.now()) / 1000);
  return [id, state, reason, seconds ? `in ${seconds} s` : ""];
}
