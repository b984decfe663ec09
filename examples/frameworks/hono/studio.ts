import { createStudio } from "@calotype/studio";
import { gateway } from "./gateway.ts";

/**
 * A page for you: requests with their charges, channels, callers, prices, and a form that makes images. As it is here, it
 * responds to this machine only, to a browser that has opened the link in the terminal, and not with NODE_ENV=production. To open
 * it in production, pass `authorize`.
 */
export const studio = createStudio(gateway, { caller: "default" });
