import process from "node:process";
import zlib from "node:zlib";

/**
 * Imported before `undici`: on an older Node, `undici` fails at import with a message that does not name the cause.
 * A file of its own in the package, because a bundle runs all imports of other packages before its own code.
 */
if (!isSupported(process.versions.node)) {
  const error = new Error(`calotype needs Node 22.19 or newer; this is Node ${process.versions.node}.`);
  // The stack trace would show only Node's module loader.
  error.stack = error.message;
  throw error;
}

function isSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isNewEnough = major > 22 || (major === 22 && minor >= 19);
  // Missing in the first releases of Node 23.
  return isNewEnough && "createZstdDecompress" in zlib;
}
