import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { AppChoices } from "../choices.js";
import { planApp } from "../plan-app.js";
import { writeApp } from "../write-app.js";

/** In this package, so that the apps find its devDependencies, which are all that an app can need. */
export const GENERATED = join(import.meta.dirname, "../../.generated");

/** Writes an app to a folder below {@link GENERATED} and returns the folder. An app that was there is removed. */
export function generateApp(name: string, choices: AppChoices): string {
  const folder = join(GENERATED, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeApp(folder, planApp(choices, { name: "app", range: "*" }));
  return folder;
}
