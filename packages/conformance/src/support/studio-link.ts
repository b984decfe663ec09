import process from "node:process";
import type { Studio } from "@calotype/studio";
import { vi } from "vitest";

/** The link to a page of a studio without `authorize`, as the terminal shows it. */
export function readStudioLink(studio: Studio, url: string): string {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  try {
    studio.printLink(url);
    const [link] = /https?:\S+/.exec(String(write.mock.calls[0]?.[0])) ?? [];
    if (link === undefined) throw new Error("The studio printed no link.");
    return link;
  } finally {
    write.mockRestore();
  }
}

/** Opens such a link, and returns the header `cookie` of the session. */
export async function openStudioSession(studio: Studio, url: string): Promise<string> {
  const response = await fetch(readStudioLink(studio, url), { redirect: "manual" });
  const [cookie = ""] = response.headers.get("set-cookie")?.split(";") ?? [];
  if (response.status !== 303 || cookie === "")
    throw new Error(`The link opened nothing: ${response.status}`);
  return cookie;
}
