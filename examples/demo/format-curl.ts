import type { Step } from "./tour.ts";

/** Where a call goes, and with which key. */
export interface Target {
  readonly baseUrl: string;
  readonly apiKey: string;
}

/**
 * The shell line that makes the same call.
 *
 * @param picture the file that an edit uploads
 */
export function formatCurl(step: Step, { baseUrl, apiKey }: Target, picture?: string): string {
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
