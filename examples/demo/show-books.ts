import { formatTable } from "./format-table.ts";
import type { Stage } from "./stage.ts";

/** What the operator sees of each caller. */
export async function showBooks({ app }: Stage): Promise<void> {
  const { callers } = await app.readBooks();
  const rows = callers.map(({ key, requests, images, settled, held }) => [
    key,
    String(requests),
    String(images),
    settled,
    held,
  ]);
  console.log(formatTable(["caller", "requests", "images", "charged", "held"], rows));
}
