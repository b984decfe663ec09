// Checks the tarballs of all published packages with publint and "Are the types wrong?". In one process, because both load
// slowly. Fails with a line for each problem.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { pack } from "./support/packed-project.ts";

/** Resolutions that packages of ES modules only do not have. */
const NOT_OURS = new Set<string>(["node10", "node16-cjs"]);

const folder = mkdtempSync(join(tmpdir(), "calotype-packages-"));
try {
  for (const tarball of pack(folder)) {
    const data = readFileSync(tarball);
    const problems = [...(await findTypeProblems(data)), ...(await lintPackage(data))];
    process.stdout.write(
      `${basename(tarball)}: ${problems.length === 0 ? "correct" : problems.join("\n  ")}\n`,
    );
    if (problems.length > 0) process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true });
}

async function findTypeProblems(tarball: Uint8Array): Promise<string[]> {
  const result = await checkPackage(createPackageFromTarballData(tarball));
  if (!result.types) return ["The package has no types."];
  return result.problems
    .filter((problem) => !("resolutionKind" in problem && NOT_OURS.has(problem.resolutionKind)))
    .map((problem) => JSON.stringify(problem));
}

/** Warnings and suggestions are problems too. */
async function lintPackage(tarball: Uint8Array): Promise<string[]> {
  const { messages, pkg } = await publint({
    pack: { tarball: Uint8Array.from(tarball).buffer },
    strict: true,
  });
  return messages.map((message) => formatMessage(message, pkg) ?? message.code);
}
