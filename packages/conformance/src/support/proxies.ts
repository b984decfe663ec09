import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findFreePort } from "./find-free-port.ts";
import type { Service } from "./needs-service.ts";

/** A proxy before an app. */
export interface Proxy {
  /** For example `http://127.0.0.1:40123`. */
  readonly url: string;
  readonly close: () => Promise<void>;
}

/** nginx. The package nginx-light of Debian is enough. */
export const NGINX = programOf("nginx", "NGINX", "-v");
export const HAPROXY = programOf("haproxy", "HAPROXY", "-v");
export const VARNISH = programOf("varnishd", "VARNISHD", "-V");

/**
 * A program whose address is its path.
 *
 * @param option prints something and ends. The exit code does not matter: that of some programs is 1.
 */
export function programOf(name: string, variable: string, option: string): Service {
  return {
    name: `the program ${name}`,
    variable,
    url: name,
    probe: async (program) => {
      const { error } = spawnSync(program, [option], { stdio: "ignore" });
      if (error !== undefined) throw error;
    },
  };
}

/**
 * Starts nginx.
 *
 * @param app the address of the app
 * @param options `listen`: parameters of the directive, such as `http2`. `directives`: of the location.
 */
export async function startNginx(
  program: string,
  app: string,
  { listen = "", directives = "" }: { readonly listen?: string; readonly directives?: string } = {},
): Promise<Proxy> {
  return startProxy(program, {
    args: (folder) => ["-e", join(folder, "error.log"), "-c", join(folder, "config")],
    config: (port, folder) => {
      const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
        (name) => `${name}_temp_path ${folder}/${name};`,
      );
      return `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
events {}
http {
  access_log off; ${paths.join(" ")}
  server { listen 127.0.0.1:${port} ${listen}; location / { proxy_pass ${app}; ${directives} } }
}`;
    },
  });
}

/** Starts HAProxy with the timeouts of docs/deployment.md. */
export async function startHaproxy(program: string, app: string): Promise<Proxy> {
  return startProxy(program, {
    args: (folder) => ["-db", "-f", join(folder, "config")],
    config: (port) => `defaults
  mode http
  timeout connect 2s
  timeout client 960s
  timeout server 960s
listen gateway
  bind 127.0.0.1:${port}
  server gateway ${new URL(app).host}
`,
  });
}

/** Starts Varnish as it is by default: requests with a key or another method than GET are passed on. */
export async function startVarnish(program: string, app: string): Promise<Proxy> {
  const { hostname, port: appPort } = new URL(app);
  return startProxy(program, {
    args: (folder, port) => {
      const files = ["-f", join(folder, "config"), "-n", folder];
      return ["-F", "-a", `127.0.0.1:${port}`, ...files, "-s", "malloc,64m", "-j", "none"];
    },
    config: () => `vcl 4.1;
backend default { .host = "${hostname}"; .port = "${appPort}"; .first_byte_timeout = 960s; .between_bytes_timeout = 960s; }
`,
  });
}

/** Starts a proxy with a file `config` in a folder of its own. */
async function startProxy(
  program: string,
  plan: {
    readonly args: (folder: string, port: number) => readonly string[];
    readonly config: (port: number, folder: string) => string;
  },
): Promise<Proxy> {
  const folder = await mkdtemp(join(tmpdir(), "calotype-proxy-"));
  const port = await findFreePort();
  await writeFile(join(folder, "config"), plan.config(port, folder));
  const child = spawn(program, plan.args(folder, port), { stdio: "ignore" });
  const close = async (): Promise<void> => {
    await stop(child);
    await rm(folder, { recursive: true, force: true });
  };
  const endsAt = performance.now() + 30_000;
  while (!(await canConnect(port))) {
    if (performance.now() < endsAt) {
      await sleep(50);
      continue;
    }
    await close();
    throw new Error(`${program} did not start.`);
  }
  return { url: `http://127.0.0.1:${port}`, close };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill();
  await once(child, "exit");
}

async function canConnect(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const opened = await new Promise<boolean>((resolve) => {
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
  });
  socket.destroy();
  return opened;
}
