/** What the program of `server-process.ts` is told. */
export interface ServerPlan {
  readonly providerUrl: string;
}

/** The caller of the load. */
export const CALLER = "tester";
export const KEY = "caller-canary-6ce0d9f3";
export const MODEL = "seedream-4-5-251128";
