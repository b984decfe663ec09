import { streamHandle } from "hono/aws-lambda";
import { app } from "./app.ts";

/** For a function URL with the invoke mode RESPONSE_STREAM. */
export const handler = streamHandle(app);
