import type { FailureScope, UpstreamFailureKind } from "./family.js";

/** What an HTTP status means where the provider's code says nothing else. */
export function failureKindOfStatus(status: number): UpstreamFailureKind {
  if (status === 401 || status === 403) return "credential";
  // The request path of a family is fixed, so a 404 means that the model or endpoint was not found.
  if (status === 404 || status === 410) return "model";
  if (status === 429) return "rate";
  if (status === 503) return "overload";
  // The provider gave up on a request it had taken; the client must not send it again.
  if (status === 408) return "server";
  // An error with status 2xx and an unknown code does not affect the channel's health.
  if (status >= 200 && status < 300) return "content";
  return status >= 400 && status < 500 ? "content" : "server";
}

/** What an error code of a provider means, whatever its HTTP status. */
export interface CodeMeaning {
  readonly kind: UpstreamFailureKind;
  /** Default: the default of the kind. */
  readonly scope?: FailureScope;
}

/** The kind and scope of an error: by its code where the family's table has it, else by its HTTP status. */
export function classifyFailure(
  codes: ReadonlyMap<string, CodeMeaning>,
  status: number,
  code: string | undefined,
): CodeMeaning {
  const meaning = code === undefined ? undefined : codes.get(code);
  // "internal error" codes mean the same as their status. They are in the tables for errors that come with a 2xx.
  const isByStatus = meaning === undefined || (meaning.kind === "server" && status >= 300);
  if (isByStatus) return { kind: failureKindOfStatus(status) };
  // A 429 always cools for its `retry-after`, even if the provider calls it an overload.
  if (meaning.kind === "overload" && status === 429) return { kind: "rate", scope: "channel" };
  return meaning;
}

/** Creates a table of codes from lists of codes with the same meaning. */
export function createCodeTable(
  ...rows: readonly (readonly [meaning: CodeMeaning, ...codes: readonly string[]])[]
): ReadonlyMap<string, CodeMeaning> {
  return new Map(rows.flatMap(([meaning, ...codes]) => codes.map((code) => [code, meaning])));
}
