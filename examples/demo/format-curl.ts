import type { Step } from "./tour.ts";

/** The address and the key of a call. */
export interface Target {
  readonly baseUrl: string;
  readonly apiKey: string;
}

/**
 * Formats the curl command that makes the same call.
 *
 * @param image the file that an edit uploads
 */
export function formatCurl(step: Step, { baseUrl, apiKey }: Target, image?: string): string {
  const authorization = `-H 'Authorization: Bearer ${apiKey}'`;
  if (step.kind === "edit") {
    const fields = Object.entries(step.request).map(([name, value]) => `-F ${quote(`${name}=${value}`)}`);
    return [`curl -sS ${baseUrl}/images/edits`, authorization, ...fields, `-F image=@${image}`].join(
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
