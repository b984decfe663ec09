import type { RequestListener } from "node:http";
import { type NodeHandler, toNodeHandler } from "@calotype/node";
import type { Before } from "../adapter-suite/adapter-host.js";
import { describeAdapter } from "../adapter-suite.js";
import { send } from "../support/http-client.js";
import { listen } from "../support/listen.js";

const WRAPPERS: Partial<Record<Before, (handler: NodeHandler) => RequestListener>> = {
  "eats-body": (handler) => (req, res) => {
    req.resume().on("end", () => handler(req, res));
  },
  "listens-to-body": (handler) => (req, res) => {
    req.on("data", () => {});
    handler(req, res);
  },
  "sets-header": (handler) => (req, res) => {
    res.setHeader("x-host", "yes");
    handler(req, res);
  },
};

describeAdapter({
  name: "node:http",
  befores: ["eats-body", "listens-to-body", "sets-header"],
  hasSocket: true,
  hasMountPaths: false,
  otherPaths: "gateway-404",
  async mount(gateway, { before } = {}) {
    const handler = toNodeHandler(gateway);
    const wrap = before && WRAPPERS[before];
    const { url, close } = await listen(wrap === undefined ? handler : wrap(handler));
    return { url, close, send: (call) => send(url, call) };
  },
});
