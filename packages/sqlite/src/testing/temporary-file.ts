import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** The path of a file that is not there yet, in a folder that goes with the test. */
export function temporaryFile(name = "ledger.db"): string {
  const folder = mkdtempSync(join(tmpdir(), "calotype-sqlite-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, name);
}
