import type { Listening } from "../support/listen.js";
import type { Providers } from "../support/test-gateway.js";
import { authJsClient, betterAuthClient } from "./clients.js";
import { describeSignIn } from "./describe-sign-in.js";
import type { AppSetup, SignInApp } from "./sign-in-app.js";

/** Describes the app of the fixtures, which has a sign-in library in each of two folders. */
export function describeSignInOnNext(server: () => Listening, providers: () => Providers): void {
  const inFolder = (folder: string, app: Pick<SignInApp, "library" | "client">): SignInApp => ({
    host: "Next.js",
    hasParser: false,
    ...app,
    async open(gateway, { seen = toCaller } = {}) {
      Reflect.set(globalThis, Symbol.for("calotype.test.gateway"), gateway);
      Reflect.set(globalThis, Symbol.for("calotype.test.seen"), seen);
      return { url: server().url + folder, close: async () => {} };
    },
  });
  describeSignIn(inFolder("/better-auth", { library: "better-auth", client: betterAuthClient }), providers);
  describeSignIn(inFolder("/auth-js", { library: "Auth.js", client: authJsClient }), providers);
}

const toCaller: NonNullable<AppSetup["seen"]> = async (id) => (id === undefined ? null : { id });
