import { respondWithJson } from "../respond.js";
import type { Session } from "../wire.js";
import type { ApiRoute } from "./route.js";

export const SESSION_ROUTES: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "session",
    role: "viewer",
    async run({ gateway, caller, currency }, { role, access }) {
      const id = typeof caller === "object" ? caller.id : caller;
      const session: Session = {
        role,
        access,
        gatewayPath: gateway.basePath,
        hasPrices: (await gateway.prices()) !== undefined,
        ...(id !== undefined && role === "admin" && { tryCaller: id }),
        ...(currency !== undefined && { currency }),
      };
      return respondWithJson(session);
    },
  },
];
