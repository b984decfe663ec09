import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** The reason why curl cannot run on this machine, if there is one. */
export const curlIsMissing: string | undefined =
  spawnSync("sh", ["-c", "curl --version"]).status === 0 ? undefined : "This machine has no curl.";

/**
 * The content of `.curlrc`: it prints response heads to stderr, so that the tested commands need no
 * additional options.
 */
const CURLRC = `silent
show-error
noproxy = "*"
write-out = "%{stderr}%{http_code} %{content_type}"
`;

/** A shell with the variables `BASE_URL` and `API_KEY`, and files in its folder. */
export interface Shell {
  readonly run: (command: string) => Promise<CurlResponse>;
  readonly start: (command: string) => ChildProcessWithoutNullStreams;
}

interface CurlResponse {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** Opens a shell in a new folder with these files, until the test ends. */
export function openShell(
  variables: Readonly<Record<"BASE_URL" | "API_KEY", string>>,
  files: Readonly<Record<string, string | Uint8Array>> = {},
): Shell {
  const folder = mkdtempSync(join(tmpdir(), "calotype-curl-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries({ ".curlrc": CURLRC, ...files })) {
    writeFileSync(join(folder, name), content);
  }
  const env = { ...process.env, CURL_HOME: folder, ...variables };
  const start = (command: string): ChildProcessWithoutNullStreams => {
    const shell = spawn("sh", ["-c", command], { cwd: folder, env });
    onTestFinished(() => void shell.kill());
    return shell;
  };
  return { start, run: (command) => readResponse(start(command)) };
}

async function readResponse({ stdout, stderr }: ChildProcessWithoutNullStreams): Promise<CurlResponse> {
  const [body, head] = await Promise.all([text(stdout), text(stderr)]);
  const [, status, contentType = ""] = /^(\d{3}) (.*)$/.exec(head) ?? [];
  if (status === undefined || status === "000") throw new Error(`curl failed: ${head}`);
  return { status: Number(status), contentType, body };
}
