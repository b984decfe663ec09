import type { StepResult } from "./run-step.ts";

const HEADINGS = ["model", "operation", "channel", "images", "size", "time", "usage", "charge"];

/** A table with a row for each call, and the sum of the charges as the gateway's records give them. */
export function formatTable(results: readonly StepResult[]): string {
  const rows = results.map(({ record, size, seconds }) => [
    record.model,
    record.operation,
    record.channel,
    String(record.images),
    size,
    `${seconds.toFixed(2)} s`,
    formatUsage(record.usage),
    formatCharge(record),
  ]);
  const widths = HEADINGS.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
  return [HEADINGS, widths.map((width) => "-".repeat(width)), ...rows].map(line).join("\n");
}

function formatUsage(usage: StepResult["record"]["usage"]): string {
  const images = `generated_images ${usage?.generated_images ?? "?"}`;
  return usage?.output_tokens === undefined ? images : `${images}, output_tokens ${usage.output_tokens}`;
}

/** The charge and where it comes from: `1 = 4 × 0.25 × 1`. */
function formatCharge({ charge, derivation }: StepResult["record"]): string {
  if (derivation?.pricing_mode !== "per-request") return charge ?? "-";
  return `${charge} = ${derivation.count} × ${derivation.model_price} × ${derivation.group_ratio}`;
}

/** The shell line that makes the same call. */
export function formatCurl({ step }: StepResult, baseUrl: string, apiKey: string, picture?: string): string {
  const authorization = `-H 'Authorization: Bearer ${apiKey}'`;
  if (step.kind === "edit") {
    const fields = Object.entries(step.request).map(([name, value]) => `-F ${quote(`${name}=${value}`)}`);
    return [`curl -sS ${baseUrl}/images/edits`, authorization, ...fields, `-F image=@${picture}`].join(
      " \\\n  ",
    );
  }
  const body = step.kind === "stream" ? { ...step.request, stream: true } : step.request;
  return [
    `curl -sS${step.kind === "stream" ? "N" : ""} ${baseUrl}/images/generations`,
    authorization,
    "-H 'Content-Type: application/json'",
    `-d ${quote(JSON.stringify(body))}`,
  ].join(" \\\n  ");
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** How much of a stream has arrived: `██░░ 2 of 4`. */
export function formatProgress(count: number, total: number): string {
  return `${"█".repeat(count)}${"░".repeat(Math.max(0, total - count))} ${count} of ${total}`;
}
