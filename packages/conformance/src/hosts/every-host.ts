import type { Gateway } from "@calotype/core";
import { toNodeHandler } from "@calotype/node";
import express from "express";
import Koa from "koa";
import { onTestFinished } from "vitest";
import type { Call, ReadResponse } from "../support/http-client.js";
import { type Listening, listen } from "../support/listen.js";
import { sendByFetch } from "../support/send-by-fetch.js";
import { createExpressHost } from "./express-host.js";
import { createKoaHost } from "./koa-host.js";
import { createNextHost } from "./next-host.js";

/** A gateway in a host: how a request is sent, and how a link to an image is opened. */
interface Opened {
  readonly send: (call: Call) => Promise<ReadResponse>;
  readonly download: (url: string, headers?: Record<string, string>) => Promise<Response>;
}

/** Puts a gateway into a host until the test ends. */
export type OpenHost = (gateway: Gateway) => Promise<Opened>;

const download: Opened["download"] = (url, headers = {}) => fetch(url, { headers });

const inHost =
  (host: { readonly mount: (gateway: Gateway) => Promise<MountedExpress> }): OpenHost =>
  async (gateway) => {
    const { send, close } = await host.mount(gateway);
    onTestFinished(close);
    return { send, download };
  };
type MountedExpress = Pick<
  Awaited<ReturnType<ReturnType<typeof createExpressHost>["mount"]>>,
  "send" | "close"
>;

/** Hosts by their names in the documents. */
export type Hosts = Readonly<Record<string, OpenHost>>;

/** Every kind of host, by its name in the documents. */
export function createHosts(nextServer: () => Listening): Hosts {
  return {
    Express: inHost(createExpressHost("Express 5", express)),
    Koa: inHost(createKoaHost("Koa 3", Koa)),
    "Next.js": inHost(createNextHost(nextServer)),
    "`node:http`": async (gateway) => {
      const { url, close } = await listen(toNodeHandler(gateway));
      onTestFinished(close);
      const send: Opened["send"] = async ({ method = "POST", path, headers = {}, body }) => {
        const response = await fetch(url + path, {
          method,
          headers,
          body: typeof body === "string" ? body : null,
        });
        const read = { status: response.status, headers: Object.fromEntries(response.headers) };
        return { ...read, text: await response.text() };
      };
      return { send, download };
    },
    "`gateway.fetch`": async (gateway) => ({
      send: (call) => sendByFetch(gateway, call),
      download: async (url, headers = {}) =>
        url.startsWith("http://gateway.test/")
          ? gateway.fetch(new Request(url, { headers }))
          : download(url, headers),
    }),
  };
}
