import type { Gateway } from "@calotype/core";
import type { Call, ReadResponse } from "../support/http-client.ts";

/**
 * Handlers of the host that may run before the gateway:
 *
 * - `json-parser`, `raw-parser`, `text-parser`: read the body and store it parsed, as bytes, or as a string
 * - `form-parser`: reads forms only; body-parser 1 stores an empty object for every other body
 * - `eats-body`: reads the whole body and stores nothing
 * - `listens-to-body`: listens to the chunks and calls the next handler at once
 * - `sets-header`: sets the header `x-host: yes` on the response
 */
export type Before =
  | "json-parser"
  | "raw-parser"
  | "text-parser"
  | "form-parser"
  | "eats-body"
  | "listens-to-body"
  | "sets-header";

/** How a host mounts a gateway. Default: at the root, without handlers before it. */
export interface Mounting {
  /** The path of the host at which the gateway is mounted. */
  readonly at?: string;
  readonly before?: Before;
}

/** A gateway mounted in a host. */
export interface Mounted {
  /** For example `http://127.0.0.1:40123`; empty if the host has no socket. */
  readonly url: string;
  readonly send: (call: Call) => Promise<ReadResponse>;
  readonly close: () => Promise<void>;
}

/** A host of the suite. To add one, write a file of a few lines: see `hosts/`. */
export interface AdapterHost {
  readonly name: string;
  /** The handlers that `mount` can put before the gateway. */
  readonly befores: readonly Before[];
  /** False if requests do not use a socket. */
  readonly hasSocket: boolean;
  /** False if a gateway can only be mounted at the root. */
  readonly hasMountPaths: boolean;
  /**
   * Who responds to other paths: the host's own handler after the gateway, which responds to every path with 200 and
   * `the app's own`; or the gateway with a 404.
   */
  readonly otherPaths: "own-handler" | "gateway-404";
  /**
   * True if another host of the suite has the same adapter, such as a newer version of the framework. `npm test` leaves out
   * the long tests of many bytes and long waits, which are about the adapter; `npm run test:full` has them all. Default false.
   */
  readonly sharesAdapter?: boolean | undefined;
  mount(gateway: Gateway, mounting?: Mounting): Promise<Mounted>;
}

/** The response of the host's own handler, see {@link AdapterHost.otherPaths}. */
export const OWN_RESPONSE = "the app's own";
