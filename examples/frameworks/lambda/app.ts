import { Hono } from "hono";
import { gateway } from "./gateway.ts";

export const app = new Hono();
app.all("/v1/*", (c) => gateway.fetch(c.req.raw));
app.get("/healthz", (c) => gateway.fetch(c.req.raw));
