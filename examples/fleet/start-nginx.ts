import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Running, startProgram } from "./program.ts";

/** Returns the path of nginx, if it is installed. NGINX_PROGRAM is another path, or `none`. */
export function findNginx(): string | undefined {
  const { NGINX_PROGRAM } = process.env;
  const candidates = NGINX_PROGRAM ? [NGINX_PROGRAM] : ["nginx", "/usr/sbin/nginx"];
  return candidates.find((program) => program !== "none" && spawnSync(program, ["-v"]).status === 0);
}

/** The port of nginx, and the gateways behind it. */
export interface Place {
  readonly port: number;
  readonly gateways: readonly number[];
}

/** Starts nginx with nginx.conf and local addresses. */
export async function startNginx(program: string, folder: string, place: Place): Promise<Running> {
  const text = readFileSync(new URL("nginx.conf", import.meta.url), "utf8");
  writeFileSync(join(folder, "gateways.conf"), moveTo(text, place));
  const config = join(folder, "nginx.conf");
  writeFileSync(config, toMainConfig(folder));
  return await startProgram(program, ["-p", folder, "-e", "stderr", "-c", config], {
    name: "nginx",
    port: place.port,
    // Finishes requests in progress.
    stopSignal: "SIGQUIT",
  });
}

/** The same configuration with another port and other gateways. */
export function moveTo(config: string, { port, gateways }: Place): string {
  let next = 0;
  return config
    .replace(/listen \d+;/, `listen 127.0.0.1:${port};`)
    .replaceAll(/server gateway-\d+:\d+/g, () => `server 127.0.0.1:${gateways[next++]}`);
}

/** Settings that the container image already has. */
function toMainConfig(folder: string): string {
  const bodies = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `  ${name}_temp_path ${folder}/${name};`,
  );
  return `daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
events { worker_connections 4096; }
http {
  access_log off;
${bodies.join("\n")}
  include ${folder}/gateways.conf;
}
`;
}
