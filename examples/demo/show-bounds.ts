import { APIError } from "openai";
import { formatCharge } from "./format-charge.ts";
import { KEYS } from "./options.ts";
import { openClient, type Stage } from "./stage.ts";

const HEADERS = ["retry-after", "ratelimit-policy", "ratelimit"];

/** Sends requests until the budget of the caller is used up, then one more, which exceeds its rate limit. */
export async function showBounds(stage: Stage): Promise<void> {
  const client = openClient(stage, KEYS.trial);
  for (let request = 1; request <= 4; request++) {
    try {
      const { response, request_id: id } = await client.images
        .generate({ model: "seedream-4-5-251128", prompt: "A kite over the sea" })
        .withResponse();
      const record = await stage.app.findRecord(id ?? "");
      console.log(`  request ${request}: ${response.status}, charged ${formatCharge(record)}`);
    } catch (error) {
      if (!(error instanceof APIError)) throw error;
      console.log(`  request ${request}: ${error.status} ${error.code}: ${toText(error)}`);
      if (error.status === 429) showHeaders(error);
    }
  }
}

/** Removes the status, which the client puts before the gateway's message. */
function toText({ message, status }: APIError): string {
  return message.replace(`${status} `, "");
}

function showHeaders({ headers }: APIError): void {
  for (const name of HEADERS) console.log(`    ${name}: ${headers?.get(name)}`);
}
