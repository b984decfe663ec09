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

/** The port of nginx, and the ports of `gateway-1`, `gateway-2` and so on. */
export interface Place {
  readonly port: number;
  readonly gateways: readonly number[];
}

/** Starts nginx with a configuration of this folder and local addresses. */
export async function startNginx(
  program: string,
  folder: string,
  place: Place,
  name: "nginx.conf" | "nginx-cells.conf" = "nginx.conf",
): Promise<Running> {
  const text = readFileSync(new URL(name, import.meta.url), "utf8");
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
  return config
    .replace(/listen \d+;/, `listen 127.0.0.1:${port};`)
    .replaceAll(/server gateway-(\d+):\d+/g, (_, number) => `server 127.0.0.1:${gateways[number - 1]}`);
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
