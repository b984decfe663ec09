import { toNextHandlers } from "@calotype/next";
import { load } from "../../../load.ts";

export const { GET, POST, PUT, PATCH, DELETE, OPTIONS } = toNextHandlers(async () => (await load()).studio);
