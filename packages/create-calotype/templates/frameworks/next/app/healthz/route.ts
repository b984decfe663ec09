import { toNextHandlers } from "@calotype/next";
import { load } from "../../load.ts";

export const { GET } = toNextHandlers(async () => (await load()).gateway);
