import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort } from "@calotype/conformance/support/find-free-port";
import { startChild } from "../system/child.ts";
import type { StartContext, Target } from "../target.ts";
import { waitForPort } from "./wait-for-port.ts";

/** Returns the reason why nginx cannot take part, if there is one. */
export function findNginxObstacle(): string | undefined {
  return spawnSync("nginx", ["-v"]).status === 0 ? undefined : "nginx is not installed";
}

/** nginx as a plain proxy with one worker and without buffering of responses. */
export async function startNginx({ upstream, core }: StartContext): Promise<Target> {
  const folder = mkdtempSync(join(tmpdir(), "calotype-bench-nginx-"));
  const port = await findFreePort();
  writeFileSync(join(folder, "nginx.conf"), toConfig({ folder, port, upstream }));
  const child = startChild(["nginx", "-p", folder, "-e", "stderr", "-c", join(folder, "nginx.conf")], {
    core,
    hasMessages: false,
  });
  await waitForPort(port).catch((cause: unknown) => {
    throw new Error(`nginx did not start: ${child.output()}`, { cause });
  });
  return {
    pid: child.pid,
    origin: `http://127.0.0.1:${port}`,
    headers: {},
    async stop() {
      await child.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function toConfig({ folder, port, upstream }: { folder: string; port: number; upstream: string }): string {
  const bodies = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `  ${name}_temp_path ${folder}/${name};`,
  );
  return `daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
events { worker_connections 12000; }
http {
  access_log off;
  client_max_body_size 0;
${bodies.join("\n")}
  upstream provider {
    server ${new URL(upstream).host};
    keepalive 2000;
    keepalive_requests 1000000;
  }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    keepalive_timeout 600s;
    keepalive_requests 1000000;
    location / {
      proxy_pass http://provider;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_buffer_size 64k;
      proxy_buffers 4 64k;
    }
  }
}
`;
}
