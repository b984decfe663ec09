/**
 * The addresses of the providers of a run. They run in another process, so that the runtime reaches them over
 * sockets.
 */
export interface ProviderAddresses {
  /** An emulator of both providers. */
  readonly emulator: string;
  /** See `scripted-provider.ts`. */
  readonly scripted: string;
  /** A server that must not get a connection. */
  readonly trapPort: number;
  /** A loopback address without a server. */
  readonly closed: string;
}

export function isProviderAddresses(value: unknown): value is ProviderAddresses {
  const names: readonly (keyof ProviderAddresses)[] = ["emulator", "scripted", "trapPort", "closed"];
  return typeof value === "object" && value !== null && names.every((name) => name in value);
}
