import type { Gateway } from "@calotype/core";
import type { Studio } from "@calotype/studio";

interface Loaded {
  readonly auth: typeof import("./auth.ts").auth;
  readonly findUser: typeof import("./auth.ts").findUser;
  readonly gateway: Gateway;
  readonly studio: Studio;
}

declare global {
  var calotype: Promise<Loaded> | undefined;
}

/**
 * The gateway and the studio. They are not created when this file is imported: `next build` imports the routes too, without
 * keys and databases. All routes share them through the global object, because Next.js may load a module once for each route. So
 * restart `npm run dev` after a change of the options.
 */
export function load(): Promise<Loaded> {
  globalThis.calotype ??= importAll().catch((error: unknown) => {
    globalThis.calotype = undefined;
    throw error;
  });
  return globalThis.calotype;
}

async function importAll(): Promise<Loaded> {
  const { auth, findUser } = await import("./auth.ts");
  const { gateway } = await import("./gateway.ts");
  const { studio } = await import("./studio.ts");
  return { auth, findUser, gateway, studio };
}
