import { existsSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type sharp from "sharp";

/**
 * 30,000 glyphs: Latin, simplified and traditional Chinese, Japanese. The package is large. But libvips cannot read
 * WOFF and WOFF2, and the smaller TrueType fonts on npm draw simplified characters in their traditional forms, or lack
 * the traditional characters.
 */
export const fontFamily = "Noto Sans SC";
const fontPath = "@expo-google-fonts/noto-sans-sc/400Regular/NotoSansSC_400Regular.ttf";

let loading: Promise<typeof sharp> | undefined;

/** Loads sharp, and registers the font, for the first image. Importing this package loads neither. */
export function loadSharp(): Promise<typeof sharp> {
  loading ??= load();
  return loading;
}

async function load(): Promise<typeof sharp> {
  await prepareFontconfig();
  const { default: loaded } = await import("sharp");
  const fontfile = createRequire(import.meta.url).resolve(fontPath);
  // Rendering any text with a font file registers the font for the whole process, also for SVG. The system's fonts
  // stay in use for the glyphs that it lacks (emoji, Korean).
  await loaded({ text: { text: "字", font: fontFamily, fontfile } })
    .raw()
    .toBuffer();
  return loaded;
}

/** Must run before the first text is rendered, because the libraries read the environment once. */
async function prepareFontconfig(): Promise<void> {
  // The text engines of macOS and Windows do not find fonts that were loaded from files.
  process.env.PANGOCAIRO_BACKEND ??= "fontconfig";
  const isConfigured = process.env.FONTCONFIG_FILE !== undefined || process.env.FONTCONFIG_PATH !== undefined;
  if (isConfigured || process.platform !== "linux" || existsSync("/etc/fonts/fonts.conf")) return;
  // Slim containers have no fontconfig. It works without a file, but then it prints a warning at each start.
  const folder = await mkdtemp(join(tmpdir(), "calotype-emulator-"));
  const file = join(folder, "fonts.conf");
  await writeFile(file, `<?xml version="1.0"?><fontconfig><cachedir>${folder}</cachedir></fontconfig>`);
  process.env.FONTCONFIG_FILE = file;
}
