import process from "node:process";
import { vi } from "vitest";
import type { Studio } from "../studio.js";

/** The lines that a function prints on the terminal. */
export async function readTerminal(run: () => unknown): Promise<readonly string[]> {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  try {
    await run();
    return write.mock.calls.map(([line]) => String(line));
  } finally {
    write.mockRestore();
  }
}

/** The address of a printed link from its path on. */
export function findLink(lines: readonly string[]): string | undefined {
  return /https?:\/\/[^/\s]+(\S+)/.exec(lines.join(""))?.[1];
}

/** Opens a printed link, and returns the header `cookie` for requests to this host. It is empty if none was printed. */
export async function openSession(studio: Studio, path = "/studio"): Promise<string> {
  const url = findLink(await readTerminal(() => studio.printLink(`http://localhost:8787${path}`)));
  if (url === undefined) return "";
  const response = await studio.handle({
    method: "GET",
    url,
    mountPath: path,
    headers: new Headers({ host: "localhost:8787" }),
    body: null,
    signal: new AbortController().signal,
    clientAddress: () => "127.0.0.1",
  });
  const secret = /=([^;]+)/.exec(response?.headers["set-cookie"] ?? "")?.[1] ?? "";
  // The name depends on the port of the host.
  return ["", "_1", "_8787"].map((port) => `calotype_studio${port}=${secret}`).join("; ");
}
