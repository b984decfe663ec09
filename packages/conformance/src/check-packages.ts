// Checks the tarballs of all published packages with publint and "Are the types wrong?". In one process, because both load
// slowly. Fails with a line for each problem.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { PACKED_FOLDER, packAnew } from "./support/packed-project.ts";

/** Entry points that also have a CommonJS build. The others do not have the resolution `node16-cjs`, and none has `node10`. */
const ALSO_COMMONJS = new Set(["@calotype/core ./billing"]);

/** Stays for the tests that follow in `npm test`. */
const kept = process.env[PACKED_FOLDER];
const folder = kept ?? mkdtempSync(join(tmpdir(), "calotype-packages-"));
try {
  for (const tarball of packAnew(folder)) {
    const data = readFileSync(tarball);
    const problems = [...(await findTypeProblems(data)), ...(await lintPackage(data))];
    process.stdout.write(
      `${basename(tarball)}: ${problems.length === 0 ? "correct" : problems.join("\n  ")}\n`,
    );
    if (problems.length > 0) process.exitCode = 1;
  }
} finally {
  if (kept === undefined) rmSync(folder, { recursive: true });
}

async function findTypeProblems(tarball: Uint8Array): Promise<string[]> {
  const result = await checkPackage(createPackageFromTarballData(tarball));
  if (!result.types) return ["The package has no types."];
  return result.problems
    .filter((problem) => {
      if (!("resolutionKind" in problem)) return true;
      const isOnlyModule = !ALSO_COMMONJS.has(`${result.packageName} ${problem.entrypoint}`);
      if (problem.resolutionKind === "node16-cjs") return !isOnlyModule;
      return problem.resolutionKind !== "node10";
    })
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
