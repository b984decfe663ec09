import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Returns the path of a new file in a folder that is removed after the test. */
export function temporaryFile(name = "ledger.db"): string {
  const folder = mkdtempSync(join(tmpdir(), "calotype-sqlite-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, name);
}
