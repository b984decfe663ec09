import { APIError } from "openai";
import { formatCharge } from "./format-charge.ts";
import { formatTable } from "./format-table.ts";
import { KEYS, STUDIO_BUDGET } from "./options.ts";
import { openClient, type Stage } from "./stage.ts";

const PROMPT = "A glass bottle on a wooden table";

/** One of each provider, then one that costs more than the budget has left. */
const REQUESTS = [
  { model: "seedream-4-5-251128", prompt: PROMPT },
  { model: "image-2.0-pro", prompt: PROMPT },
  { model: "gpt-image-2", prompt: PROMPT, size: "1024x1024", quality: "medium" },
  { model: "flux-2-pro", prompt: PROMPT, size: "1024x1024" },
  { model: "image-2.0-pro", prompt: PROMPT },
] as const;

/** Lets one caller use four providers, one of which works with jobs, until its budget is used up. */
export async function showBudget(stage: Stage): Promise<void> {
  const client = openClient(stage, KEYS.studio);
  const rows: string[][] = [];
  for (const request of REQUESTS) {
    const response = await client.images.generate(request).withResponse().catch(toRefusal);
    if (response instanceof APIError) {
      rows.push(["-", request.model, `${response.status} ${response.code}`, await readSpent(stage)]);
    } else {
      const record = await stage.app.findRecord(response.request_id ?? "");
      rows.push([record.channel, request.model, formatCharge(record), await readSpent(stage)]);
    }
  }
  console.log(formatTable(["channel", "model", "charge", `spent of ${STUDIO_BUDGET}`], rows));
}

function toRefusal(error: unknown): APIError {
  if (error instanceof APIError) return error;
  throw error;
}

/** What the operator sees. */
async function readSpent({ app }: Stage): Promise<string> {
  const { callers } = await app.readOperatorPage();
  return callers.find(({ key }) => key === "studio")?.settled ?? "0";
}
