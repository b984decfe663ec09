import { createStudio } from "@calotype/studio";
import { gateway } from "./gateway.ts";

/**
 * A page for you: requests with their charges, channels, callers, prices, and a form that makes images. As it is here, it
 * responds only in `npm run dev`, which sets STUDIO, to a browser that has opened the link in the terminal. To open it elsewhere,
 * check your users in `authorize`.
 */
export const studio = createStudio(gateway, {
  authorize: ({ headers }) =>
    process.env.STUDIO === "local" && /^localhost(:\d+)?$/.test(headers.get("host") ?? "") && "terminal",
  caller: "default",
});
