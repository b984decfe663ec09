import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toExpressHandler } from "@calotype/express";
import { toKoaMiddleware } from "@calotype/koa";
import { toNodeHandler } from "@calotype/node";
import { createStudio, type Studio } from "@calotype/studio";
import express from "express";
import Koa from "koa";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { listen } from "../support/listen.js";
import { openStudioSession } from "../support/studio-link.js";
import { startGateway } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";

const HOSTS: Readonly<Record<string, (studio: Studio) => RequestListener>> = {
  Express: (studio) => express().use("/studio", toExpressHandler(studio)),
  Koa: (studio) => new Koa().use(toKoaMiddleware(studio)).callback(),
  "node:http": (studio) => toNodeHandler(studio),
};

const hasNginx = spawnSync("nginx", ["-v"]).status === 0;

// The package nginx-light of Debian is enough.
describe.runIf(hasNginx).each(Object.entries(HOSTS))(
  "behind nginx, without authorize, on %s",
  (_host, serve) => {
    const providers = useProviders();

    it.each([
      ["the shortest proxy_pass", "", "HTTP/1.0"],
      ["HTTP/1.1 to the app", "proxy_http_version 1.1;", "Open the link that the app prints"],
      [
        "the client's Host",
        "proxy_http_version 1.1; proxy_set_header Host localhost;",
        "Open the link that the app prints",
      ],
      [
        "a forwarded address",
        "proxy_http_version 1.1; proxy_set_header X-Real-IP $remote_addr;",
        "through a proxy",
      ],
    ])(
      "with %s, a client of the proxy sees, makes and changes nothing",
      async (_what, directives, reason) => {
        const { gateway } = startGateway(providers());
        const studio = createStudio(gateway, { caller: "tester" });
        const { url, close } = await listen(serve(studio));
        onTestFinished(close);
        const cookie = await openStudioSession(studio, `${url}/studio`);
        const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
        onTestFinished(() => write.mockRestore());
        const proxy = await startNginx(url, directives);
        const change = {
          method: "POST",
          headers: {
            "x-calotype-studio": "1",
            "sec-fetch-site": "same-origin",
            "content-type": "application/json",
          },
          body: JSON.stringify({ id: "intruder" }),
        };

        const page = await fetch(`${proxy}/studio`);
        const file = await fetch(`${proxy}/studio/assets/any.js`);
        const api = await fetch(`${proxy}/studio/api/callers`);
        const changed = await fetch(`${proxy}/studio/api/callers`, change);
        const guessed = await fetch(`${proxy}/studio?token=${"0".repeat(64)}`, { redirect: "manual" });

        expect([page, file, api, changed, guessed].map(({ status }) => status)).toEqual([
          403, 403, 403, 403, 403,
        ]);
        expect(await page.text()).toContain(reason);
        expect(await gateway.callers.find("intruder")).toBeUndefined();
        // The developer on this machine is let in meanwhile.
        expect((await fetch(`${url}/studio/api/session`, { headers: { cookie } })).status).toBe(200);
      },
    );
  },
);

/** Starts nginx before an app, and returns its address. */
async function startNginx(app: string, directives: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "calotype-nginx-"));
  const port = await findPort();
  const file = join(folder, "nginx.conf");
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  await writeFile(
    file,
    `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
    events {}
    http {
      access_log off; ${paths.join(" ")}
      server { listen 127.0.0.1:${port}; location / { proxy_pass ${app}; ${directives} } }
    }`,
  );
  const server = spawn("nginx", ["-e", join(folder, "error.log"), "-c", file], { stdio: "ignore" });
  onTestFinished(async () => {
    await stop(server);
    await rm(folder, { recursive: true });
  });
  await vi.waitUntil(() => canConnect(port), { timeout: 10_000 });
  return `http://127.0.0.1:${port}`;
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null) return;
  server.kill();
  await once(server, "exit");
}

async function findPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return address.port;
}

function canConnect(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  return new Promise((resolve) => {
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
  }).finally(() => socket.destroy()) as Promise<boolean>;
}
