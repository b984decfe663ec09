import type { Gateway } from "@calotype/core";
import type { Answer, Call } from "../support/http-client.ts";

/**
 * What of the host's own may run before the gateway:
 *
 * - `json-parser`, `raw-parser`, `text-parser`: read the body and leave it parsed, as bytes, as text
 * - `form-parser`: reads forms only; body-parser 1 still leaves an empty object for everything else
 * - `eats-body`: reads the body to its end and leaves nothing
 * - `listens-to-body`: listens to the chunks and goes on at once
 * - `sets-header`: sets the header `x-host: yes` on the answer
 */
export type Before =
  | "json-parser"
  | "raw-parser"
  | "text-parser"
  | "form-parser"
  | "eats-body"
  | "listens-to-body"
  | "sets-header";

/** How a host mounts a gateway, when not at its root with nothing before it. */
export interface Mounting {
  /** The path of the host at which the gateway is mounted. */
  readonly at?: string;
  readonly before?: Before;
}

/** A gateway mounted in a host. */
export interface Mounted {
  /** Such as `http://127.0.0.1:40123`; empty where the host has no socket. */
  readonly url: string;
  readonly send: (call: Call) => Promise<Answer>;
  readonly close: () => Promise<void>;
}

/** One host of the suite. Adding one is a file of a few lines: see `hosts/`. */
export interface AdapterHost {
  readonly name: string;
  /** What `mount` knows to put before the gateway. */
  readonly befores: readonly Before[];
  /** False where requests do not come over a socket. */
  readonly hasSocket: boolean;
  /** False where a gateway can only be mounted at the root. */
  readonly hasMountPaths: boolean;
  /**
   * Who answers a path that is not the gateway's: the host's own handler, mounted after the gateway,
   * which answers every path with 200 and `the app's own`; or the gateway's 404.
   */
  readonly otherPaths: "own-handler" | "gateway-404";
  mount(gateway: Gateway, mounting?: Mounting): Promise<Mounted>;
}

/** What a host's own handler answers, see {@link AdapterHost.otherPaths}. */
export const OWN_ANSWER = "the app's own";
