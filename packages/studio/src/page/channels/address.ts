/** The address below `api/` of what can be asked of a channel or done with it. */
export function addressOfChannel(id: string, what: "errors" | "plan" | "pause" | "resume" | "probe"): string {
  return `channels/${encodeURIComponent(id)}/${what}`;
}
