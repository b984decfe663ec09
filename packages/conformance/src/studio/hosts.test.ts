import { type RequestListener } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { toExpressHandler } from "@calotype/express";
import { toKoaMiddleware } from "@calotype/koa";
import { toNextHandlers } from "@calotype/next";
import { toNodeHandler } from "@calotype/node";
import { createStudio, type Studio } from "@calotype/studio";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import Koa from "koa";
import mount from "koa-mount";
import { describe, expect, it, onTestFinished } from "vitest";
import { listen } from "../support/listen.js";
import { openStudioSession } from "../support/studio-link.js";
import { startGateway } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";

/** How a studio is mounted on a host over sockets, and where it is then. */
const HOSTS: readonly (readonly [string, string, (studio: Studio) => RequestListener])[] = [
  ["Express", "/ops/studio", (studio) => express().use("/ops/studio", toExpressHandler(studio))],
  [
    "Express after a body parser",
    "/studio",
    (studio) => express().use(express.json(), toExpressHandler(studio)),
  ],
  ["Koa", "/studio", (studio) => new Koa().use(toKoaMiddleware(studio)).callback()],
  [
    "Express, in routers with a parameter",
    "/tenants/7/ops/studio",
    (studio) =>
      express().use(
        "/tenants/:id",
        express.Router().use("/ops", express.Router().use("/studio", toExpressHandler(studio))),
      ),
  ],
  [
    "Koa with koa-mount",
    "/ops",
    (studio) => new Koa().use(mount("/ops", toKoaMiddleware(studio))).callback(),
  ],
  [
    "Koa with koa-mount, in an app of Koa",
    "/ops/studio",
    (studio) =>
      new Koa().use(mount("/ops", new Koa().use(mount("/studio", toKoaMiddleware(studio))))).callback(),
  ],
  [
    "a server of Web requests",
    "/studio",
    (studio) =>
      getRequestListener((request, { incoming }) =>
        studio.fetch(request, {
          clientAddress: () => incoming.socket.remoteAddress,
          httpVersion: incoming.httpVersion,
        }),
      ),
  ],
  ["node:http", "/studio", (studio) => toNodeHandler(studio)],
];

describe.each(HOSTS)("on %s", (_host, path, serve) => {
  const providers = useProviders();
  const open = async () => {
    const { gateway } = startGateway(providers());
    const studio = createStudio(gateway, { caller: "tester" });
    const { url, close } = await listen(serve(studio));
    onTestFinished(close);
    return { url, headers: { cookie: await openStudioSession(studio, url + path) } };
  };

  it.each(["", "/", "/try", "?period=24h"])(
    "the page and its files are served at its path%s",
    async (below) => {
      const { url, headers } = await open();

      const html = await (await fetch(`${url}${path}${below}`, { headers })).text();
      const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file = ""]) => file);

      expect(files.length).toBeGreaterThan(1);
      expect(files.filter((file) => !file.startsWith(`${path}/assets/`))).toEqual([]);
      for (const file of files) expect((await fetch(url + file, { headers })).status).toBe(200);
    },
  );

  it("a browser that has opened the link is let in, and a proxy is not", async () => {
    const { url, headers } = await open();
    const session = (more: Record<string, string>) => fetch(`${url}${path}/api/session`, { headers: more });

    const local = await session(headers);
    const proxied = await session({ ...headers, "x-forwarded-for": "127.0.0.1" });

    expect(await local.json()).toMatchObject({ role: "admin", access: "local", tryCaller: "tester" });
    expect([(await session({})).status, proxied.status]).toEqual([403, 403]);
  });

  it.each([
    ["two hosts", "HTTP/1.1", "", ["Host: localhost", "Host: evil.example"]],
    ["a host in an absolute URL", "HTTP/1.1", "http://evil.example", ["Host: localhost"]],
    [
      "a proxy's header in capital letters, without a value",
      "HTTP/1.1",
      "",
      ["Host: localhost", "X-FORWARDED-HOST:"],
    ],
    ["HTTP/1.0, as nginx sends it", "HTTP/1.0", "", ["Host: localhost"]],
  ])("a request with %s is not let in, not even with a session", async (_what, version, origin, more) => {
    const { url, headers } = await open();
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    const cookie = `Cookie: ${headers.cookie.replace(/_\d+=/, "=")}`;

    const lines = [
      `GET ${origin}${path}/api/session ${version}`,
      ...more,
      cookie,
      "Connection: close",
      "",
      "",
    ];
    socket.write(lines.join("\r\n"));

    // Express has no route for an absolute URL.
    expect(await text(socket)).toMatch(
      /^HTTP\/1\.1 (?:404|403 [^]*(?:another host name|through a proxy|HTTP\/1\.0))/,
    );
  });

  it("a change with a body is made", async () => {
    const { url, headers } = await open();

    const response = await fetch(`${url}${path}/api/callers`, {
      method: "POST",
      headers: {
        ...headers,
        "x-calotype-studio": "1",
        "sec-fetch-site": "same-origin",
        "content-type": "application/json",
      },
      body: JSON.stringify({ id: "new" }),
    });

    expect(await response.json()).toMatchObject({
      caller: { id: "new" },
      key: expect.stringMatching(/^cal-/),
    });
  });

  it("paths beside it are not the studio's", async () => {
    const { url } = await open();

    expect((await fetch(`${url}/none`)).status).toBe(404);
  });
});

// The tests of an app that was built are in hosts/next.test.ts.
describe("on Next.js", () => {
  const providers = useProviders();
  const open = () => {
    const { gateway } = startGateway(providers());
    const { GET } = toNextHandlers(createStudio(gateway, { authorize: () => "viewer" }));
    return (path: string, segments?: string[]) =>
      GET(new Request(`http://localhost${path}`), { params: Promise.resolve({ path: segments }) });
  };

  it.each([
    ["/studio", undefined],
    ["/studio/try", ["try"]],
  ])("%s has the page", async (path, segments) => {
    const response = await open()(path, segments);

    expect(response.status).toBe(200);
    expect(await response.text()).toContain('content="/studio"');
  });

  it("without authorize every request is refused, because the host gives no address", async () => {
    const { gateway } = startGateway(providers());
    const { GET } = toNextHandlers(createStudio(gateway));

    const response = await GET(new Request("http://localhost/studio"), {});

    expect(response.status).toBe(403);
    expect(await response.text()).toContain("does not say where a request comes from");
  });
});
