import { spawnSync } from "node:child_process";

/** The Debian package of each program. */
const PACKAGES = {
  exiftool: "libimage-exiftool-perl",
  pngcheck: "pngcheck",
  jpeginfo: "jpeginfo",
  djpeg: "libjpeg-turbo-progs",
  webpinfo: "webp",
  dwebp: "webp",
} as const;

/** A program of Debian that judges images. */
export type Tool = keyof typeof PACKAGES;

/** Whether a program is installed. */
export function hasTool(tool: Tool): boolean {
  return spawnSync(tool, ["-ver"], { stdio: "ignore" }).error === undefined;
}

/** The programs that are not installed, for the name of a test. */
export function describeMissing(tools: readonly Tool[]): string {
  const missing = tools.filter((tool) => !hasTool(tool)).map((tool) => `${tool} of ${PACKAGES[tool]}`);
  return missing.length === 0 ? "" : ` (skipped, because these are not installed: ${missing.join(", ")})`;
}

/** Runs a program, and returns what it wrote. */
export function runTool(
  tool: Tool,
  args: readonly string[],
): { readonly status: number | null; readonly output: Buffer } {
  const { status, stdout, stderr } = spawnSync(tool, args, { maxBuffer: 64 * 1024 * 1024 });
  return { status, output: Buffer.concat([stdout, stderr]) };
}
