import type { UsageRecord } from "../../billing/records.js";
import type { Refusal } from "../refusals/refusal.js";
import { toPrintable } from "./print-callers.js";

/** What became of a request. */
export type FoundRequest = UsageRecord | ({ readonly state: "refused" } & Refusal);

type RequestLine = readonly [name: string, value: string | number | null | undefined];

/** What became of a request, one fact in a line. */
export function printRequest(request: FoundRequest): string {
  const lines = [...(request.state === "refused" ? describeRefusal(request) : describeRecord(request))];
  const shown = lines.filter(([, value]) => value !== undefined);
  const width = Math.max(...shown.map(([name]) => name.length));
  return shown
    .map(([name, value]) => `${name.padEnd(width)}  ${toPrintable(String(value ?? "-"))}\n`)
    .join("");
}

function describeRefusal(refusal: Refusal): readonly RequestLine[] {
  const { id, time, method, path, status, code, param, limit, caller, model, durationMs } = refusal;
  return [
    ["Id", id],
    ["Result", `refused: ${status} ${code}. No provider got the request, and nothing was charged.`],
    ["Time", time],
    ["Path", `${method} ${path}`],
    ["Field", param],
    ["Limit", limit],
    ["Caller", caller ?? "not known: the request was refused before"],
    ["Model", model],
    ["Milliseconds", durationMs],
  ];
}

function describeRecord(record: UsageRecord): readonly RequestLine[] {
  const { id, time, caller, model, images, charge, state, task } = record;
  const settled = record.state === "settled" ? record : undefined;
  return [
    ["Id", id],
    ["Result", settled === undefined ? state : [settled.status, settled.errorCode ?? ""].join(" ").trim()],
    ["Time", time],
    ["Caller", caller],
    ["Model", model],
    ["Images", images],
    ["Charge", charge],
    ["Channel", settled?.channel],
    ["Provider's id", settled?.upstreamRequestId],
    ["Task", task],
    ["Milliseconds", settled?.durationMs],
  ];
}
