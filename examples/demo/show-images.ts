import { join, relative } from "node:path";
import { formatCharge } from "./format-charge.ts";
import { formatTable } from "./format-table.ts";
import { KEYS } from "./options.ts";
import { runStep, type StepResult } from "./run-step.ts";
import { openClient, type Stage } from "./stage.ts";
import { tour } from "./tour.ts";

/** Makes every image of the tour and prints the result of each call. */
export async function showImages(stage: Stage): Promise<readonly StepResult[]> {
  const results: StepResult[] = [];
  const context = {
    client: openClient(stage, KEYS.webShop),
    findImage: (file: string) => findImage(results, file),
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

/** Prints a row for each call, with its channel and the calculation of its charge. */
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

/** Returns the path of the first file of a step that has run. */
export function findImage(results: readonly StepResult[], file: string): string {
  const [image] = results.find(({ step }) => step.file === file)?.files ?? [];
  if (image === undefined) throw new Error(`No step has made ${file} yet.`);
  return image;
}

/** Prints the progress of a stream, `██░░ 2 of 4`: in one line on a terminal, otherwise in a line per image. */
function showProgress(count: number, total: number): void {
  const end = process.stdout.isTTY && count < total ? "\r" : "\n";
  process.stdout.write(
    `    ${"█".repeat(count)}${"░".repeat(Math.max(0, total - count))} ${count} of ${total}${end}`,
  );
}
