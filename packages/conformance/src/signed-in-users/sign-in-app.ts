import type { Caller, Gateway } from "@calotype/core";
import type { Listening } from "../support/listen.js";
import type { CookieJar } from "./cookie-jar.js";

/** A user in a browser that is signed in. */
export interface SignedIn {
  /** The id that the app gives the user. */
  readonly id: string;
  readonly jar: CookieJar;
}

/** How a browser signs in to an app with a library, and out. */
export interface SignInClient {
  signIn(url: string, name: string): Promise<SignedIn>;
  signOut(url: string, user: SignedIn): Promise<void>;
}

/** What the tests change in an app. */
export interface AppSetup {
  /** Called in `caller` with what the library has found. Default: returns it. */
  readonly seen?: (id: string | undefined) => Promise<Caller | null>;
  /** A parser of JSON bodies runs before the gateway. */
  readonly parsesBodies?: boolean;
}

/** An app with a sign-in library, at `/api/auth` or `/login`, and a gateway at its root. */
export interface SignInApp {
  readonly host: string;
  readonly library: string;
  readonly client: SignInClient;
  /** False if the host has no parser of bodies that could run before the gateway. */
  readonly hasParser: boolean;
  open(gateway: Gateway, setup?: AppSetup): Promise<Listening>;
}
