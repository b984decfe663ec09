/** The arguments of `server-process.ts`. */
export interface ServerPlan {
  readonly providerUrl: string;
}

/** The caller of all requests. */
export const CALLER = "tester";
export const KEY = "caller-canary-6ce0d9f3";
export const MODEL = "seedream-4-5-251128";
