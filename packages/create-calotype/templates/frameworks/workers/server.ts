import { Hono } from "hono";
import { gateway } from "./gateway.ts";

const app = new Hono();
// A Worker ends with its response. `waitUntil` lets it read and charge the rest of a stream whose client has left.
const waitFor = ({ executionCtx }: { executionCtx: { waitUntil(work: Promise<unknown>): void } }) => ({
  waitUntil: (work: Promise<unknown>) => executionCtx.waitUntil(work),
});
app.all("/v1/*", (c) => gateway.fetch(c.req.raw, waitFor(c)));
app.get("/healthz", (c) => gateway.fetch(c.req.raw, waitFor(c)));

export default app;
