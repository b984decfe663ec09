import { toNextHandlers } from "@calotype/next";
import { load } from "../../../load.ts";

export const maxDuration = 300;

export const { GET, POST, PUT, PATCH, DELETE, OPTIONS } = toNextHandlers(async () => (await load()).gateway, {
  caller: async (request) => (await load()).findUser(request),
});
