import { toExpressHandler } from "@calotype/express";
import type express from "express";
import type { RequestHandler } from "express";
import { type AdapterHost, type Before, OWN_RESPONSE } from "../adapter-suite/adapter-host.ts";
import { send } from "../support/http-client.ts";
import { listen } from "../support/listen.ts";

/** A host of the suite for one version of Express. */
export function createExpressHost(name: string, framework: typeof express): AdapterHost {
  const limit = "64mb";
  const handlers: Record<Before, RequestHandler> = {
    "json-parser": framework.json({ limit }),
    "raw-parser": framework.raw({ limit, type: "*/*" }),
    "text-parser": framework.text({ limit, type: "*/*" }),
    "form-parser": framework.urlencoded({ extended: false }),
    "eats-body": (req, _res, next) => {
      req.resume().on("end", () => next());
    },
    "listens-to-body": (req, _res, next) => {
      req.on("data", () => {});
      next();
    },
    "sets-header": (_req, res, next) => {
      res.setHeader("x-host", "yes");
      next();
    },
  };
  return {
    name,
    befores: [
      "json-parser",
      "raw-parser",
      "text-parser",
      "form-parser",
      "eats-body",
      "listens-to-body",
      "sets-header",
    ],
    hasSocket: true,
    hasMountPaths: true,
    otherPaths: "own-handler",
    async mount(gateway, { at = "/", before } = {}) {
      const app = framework();
      if (before !== undefined) app.use(handlers[before]);
      app.use(at, toExpressHandler(gateway));
      app.use((_req, res) => void res.send(OWN_RESPONSE));
      const { url, close } = await listen(app);
      return { url, close, send: (call) => send(url, call) };
    },
  };
}
