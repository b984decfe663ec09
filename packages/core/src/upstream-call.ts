/** One call of a provider, without address and key. */
export interface UpstreamCall {
  /** Appended to the channel's base URL. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}
