import { createStudio } from "@calotype/studio";
import { gateway } from "./gateway.ts";

/**
 * A page for you: requests with their charges, channels, callers, prices, and a form that makes images. As it is here, it
 * responds only in `npm run dev`, to a browser that has opened the link in the terminal. To open it in production, check your users
 * in `authorize`: Next.js does not say from which machine a request comes.
 */
export const studio = createStudio(gateway, {
  authorize: ({ headers }) =>
    process.env.NODE_ENV === "development" &&
    /^localhost(:\d+)?$/.test(headers.get("host") ?? "") &&
    "terminal",
  caller: "default",
});
