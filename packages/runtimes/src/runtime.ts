/** What the suite runs on. */
export type RuntimeKind = "node" | "bun" | "deno" | "workerd";

/** A runtime and its program on this machine. */
export interface Runtime {
  readonly kind: RuntimeKind;
  readonly name: string;
  /** Path of the binary. */
  readonly program: string;
}
