import { Hono } from "hono";
import { gateway } from "./gateway.ts";
import { studio } from "./studio.ts";

const app = new Hono();
// A Worker ends with its response. `waitUntil` lets it read and charge the rest of a stream whose client has left.
const waitFor = ({ executionCtx }: { executionCtx: { waitUntil(work: Promise<unknown>): void } }) => ({
  waitUntil: (work: Promise<unknown>) => executionCtx.waitUntil(work),
});
app.all("/v1/*", (c) => gateway.fetch(c.req.raw, waitFor(c)));
app.get("/healthz", (c) => gateway.fetch(c.req.raw, waitFor(c)));
app.all("/studio/*", (c) => studio.fetch(c.req.raw));

export default app;
