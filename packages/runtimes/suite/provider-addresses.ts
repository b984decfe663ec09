/** Where the providers of a run listen: in another process, so that the runtime reaches them by a socket. */
export interface ProviderAddresses {
  /** An emulator of both providers. */
  readonly emulator: string;
  /** See `scripted-provider.ts`. */
  readonly scripted: string;
  /** Where no connection may come. */
  readonly trapPort: number;
  /** An address of loopback on which nothing listens. */
  readonly closed: string;
}

export function isProviderAddresses(value: unknown): value is ProviderAddresses {
  const names: readonly (keyof ProviderAddresses)[] = ["emulator", "scripted", "trapPort", "closed"];
  return typeof value === "object" && value !== null && names.every((name) => name in value);
}
