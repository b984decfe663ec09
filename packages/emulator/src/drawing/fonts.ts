import { existsSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type sharp from "sharp";

/**
 * 30,000 glyphs: Latin, simplified and traditional Chinese, Japanese. A large package, but of the npm fonts
 * tried the only well-kept one that renders: libvips reads neither WOFF nor WOFF2, and the smaller TrueType
 * fonts draw simplified characters in their traditional forms, or lack the traditional ones.
 */
export const fontFamily = "Noto Sans SC";
const fontPath = "@expo-google-fonts/noto-sans-sc/400Regular/NotoSansSC_400Regular.ttf";

let loading: Promise<typeof sharp> | undefined;

/** sharp, with our font known to it. Loaded on the first picture: importing this package touches nothing. */
export function loadSharp(): Promise<typeof sharp> {
  loading ??= load();
  return loading;
}

async function load(): Promise<typeof sharp> {
  await prepareFontconfig();
  const { default: loaded } = await import("sharp");
  const fontfile = createRequire(import.meta.url).resolve(fontPath);
  // Rendering any text with a font file registers the font for the whole process, for SVG as well, and
  // leaves the system's fonts in place for the glyphs that it lacks (emoji, Korean).
  await loaded({ text: { text: "字", font: fontFamily, fontfile } })
    .raw()
    .toBuffer();
  return loaded;
}

/** Both must happen before the first text is rendered, since the libraries read them once. */
async function prepareFontconfig(): Promise<void> {
  // The text engines of macOS and Windows do not know fonts loaded from files.
  process.env.PANGOCAIRO_BACKEND ??= "fontconfig";
  const isConfigured = process.env.FONTCONFIG_FILE !== undefined || process.env.FONTCONFIG_PATH !== undefined;
  if (isConfigured || process.platform !== "linux" || existsSync("/etc/fonts/fonts.conf")) return;
  // Slim images have no fontconfig; without any file it works, but complains on every start.
  const folder = await mkdtemp(join(tmpdir(), "calotype-emulator-"));
  const file = join(folder, "fonts.conf");
  await writeFile(file, `<?xml version="1.0"?><fontconfig><cachedir>${folder}</cachedir></fontconfig>`);
  process.env.FONTCONFIG_FILE = file;
}
