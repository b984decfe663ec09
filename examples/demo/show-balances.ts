import { formatTable } from "./format-table.ts";
import type { Stage } from "./stage.ts";

/** Prints the balance of each caller, as the operator sees it. */
export async function showBalances({ app }: Stage): Promise<void> {
  const { callers } = await app.readOperatorPage();
  const rows = callers.map(({ key, requests, images, settled, held }) => [
    key,
    String(requests),
    String(images),
    settled,
    held,
  ]);
  console.log(formatTable(["caller", "requests", "images", "charged", "held"], rows));
}
