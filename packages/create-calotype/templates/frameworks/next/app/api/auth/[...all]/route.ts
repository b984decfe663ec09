import { toNextJsHandler } from "better-auth/next-js";
import { load } from "../../../../load.ts";

export const { GET, POST } = toNextJsHandler(async (request) => (await load()).auth.handler(request));
