import type { GatewayRequest } from "@calotype/core/adapter";
import { findLocalRefusal } from "./local-request.js";
import type { Refusal } from "./refused-page.js";
import type { Role } from "./wire.js";

/** A request as {@link Authorize} gets it: without its body. A Web `Request` has these fields too. */
export interface StudioRequest {
  readonly method: string;
  /** The whole path with its query, absolute or from the root. */
  readonly url: string;
  /** Reads headers by name, such as `headers.get("cookie")`. */
  readonly headers: GatewayRequest["headers"];
  /** Returns the address at the other end of the socket, if the host knows it. Behind a proxy it is that of the proxy. */
  clientAddress?(): string | undefined;
}

/**
 * What {@link Authorize} returns: the role of the person, or `"terminal"`. That lets in, as admin, browsers that have opened a link
 * which the studio prints in the terminal of the process. Anything else refuses the request.
 */
export type StudioAccess = Role | "terminal" | false | null | undefined;

/** Your own check of who may open the studio. */
export type Authorize = (request: StudioRequest) => StudioAccess | Promise<StudioAccess>;

/** What the sender of a request may do. */
export type Admission =
  | {
      readonly role: Role;
      readonly access: "authorize" | "local";
      /** Only with a session of the terminal. */
      readonly needsSession: boolean;
    }
  | { readonly refusal: Refusal };

/** Finds out what the sender of a request may do. Rejects if `authorize` fails. */
export async function findAccess(
  request: GatewayRequest,
  authorize: Authorize | undefined,
): Promise<Admission> {
  if (authorize === undefined) {
    const refusal = findLocalRefusal(request);
    return refusal === undefined ? { role: "admin", access: "local", needsSession: true } : { refusal };
  }
  const role = await authorize(request);
  if (role === "terminal") return { role: "admin", access: "authorize", needsSession: true };
  if (role !== "admin" && role !== "viewer") return { refusal: "denied" };
  return { role, access: "authorize", needsSession: false };
}
