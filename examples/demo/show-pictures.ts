import { join, relative } from "node:path";
import { formatCharge } from "./format-charge.ts";
import { formatTable } from "./format-table.ts";
import { KEYS } from "./options.ts";
import { runStep, type StepResult } from "./run-step.ts";
import { openClient, type Stage } from "./stage.ts";
import { tour } from "./tour.ts";

/** Makes every picture of the tour, and shows what each call cost. */
export async function showPictures(stage: Stage): Promise<readonly StepResult[]> {
  const results: StepResult[] = [];
  const context = {
    client: openClient(stage, KEYS.webShop),
    findPicture: (file: string) => findPicture(results, file),
    onImage: showProgress,
  };
  for (const [index, step] of tour.entries()) {
    console.log(`  ${step.title} (${step.request.model})`);
    const prefix = join(stage.folder, String(index + 1));
    const result = await runStep(step, context, { app: stage.app, prefix });
    results.push(result);
    console.log(`    ${result.files.map((file) => relative(process.cwd(), file)).join("  ")}`);
  }
  return results;
}

/** A row for each call: who made it, and the sum that led to its charge. */
export function showCharges(results: readonly StepResult[]): void {
  const rows = results.map(({ record, size }) => [
    record.model,
    record.operation,
    record.channel,
    size,
    formatCharge(record),
  ]);
  console.log(formatTable(["model", "operation", "channel", "size", "price × count × ratio = charge"], rows));
}

/** The first file of a step that has run. */
export function findPicture(results: readonly StepResult[], file: string): string {
  const [picture] = results.find(({ step }) => step.file === file)?.files ?? [];
  if (picture === undefined) throw new Error(`No step has made ${file} yet.`);
  return picture;
}

/** How much of a stream has arrived, `██░░ 2 of 4`: one line that grows on a terminal, a line each elsewhere. */
function showProgress(count: number, total: number): void {
  const end = process.stdout.isTTY && count < total ? "\r" : "\n";
  process.stdout.write(
    `    ${"█".repeat(count)}${"░".repeat(Math.max(0, total - count))} ${count} of ${total}${end}`,
  );
}
