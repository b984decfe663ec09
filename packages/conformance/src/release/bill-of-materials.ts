import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, readText } from "../support/workspace.ts";
import { listBundled } from "./bundled-packages.ts";
import { type InstalledPackage, licenceOf, listInstalled, readInstalled } from "./installed-packages.ts";

/** A package in a bill of materials, as CycloneDX 1.6 describes it. */
export interface Component {
  readonly type: "library";
  readonly "bom-ref": string;
  /** The scope of its name, such as `@calotype`. */
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses?: readonly object[];
  readonly hashes?: readonly { readonly alg: "SHA-512"; readonly content: string }[];
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

/** A software bill of materials, as CycloneDX 1.6 describes it. It has no time and no serial number, so it is reproducible. */
export interface Bill {
  readonly $schema: string;
  readonly bomFormat: "CycloneDX";
  readonly specVersion: "1.6";
  readonly version: 1;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/** The name under which scanners look for it in an installed package. */
export const BILL_FILE = "sbom.cdx.json";

/**
 * Creates the bill of a built package.
 *
 * @param folder from the root of the workspace, such as `packages/core`
 * @param scope `bundled`: what is in the tarball. `installed`: also what npm installs with it, in the versions of the lock
 *   file. An app may have other versions of these, so the tarball does not name them.
 */
export function createBill(folder: string, scope: "bundled" | "installed"): Bill {
  const path = join(ROOT, folder);
  const own = toComponent(readInstalled(path));
  const bundled = listBundled(folder).map(({ name, version, licence }) => ({
    ...toComponent({ name, version, license: licence }),
    properties: [{ name: "cdx:npm:package:bundled", value: "true" }],
  }));
  const installed = scope === "installed" ? [...listInstalled(path).values()] : [];
  const others = installed.filter((other) => other.folder !== path);
  const refOf = (at: string): string => toComponent(readInstalled(at))["bom-ref"];
  const dependsOn = ({ dependencies }: InstalledPackage): string[] => dependencies.map(refOf).toSorted();
  const direct = installed.filter((other) => other.folder === path).flatMap(dependsOn);
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: own },
    components: sortByRef([...bundled, ...others.map(({ manifest }) => withHash(toComponent(manifest)))]),
    dependencies: [
      {
        ref: own["bom-ref"],
        dependsOn: [...bundled.map((component) => component["bom-ref"]), ...direct].toSorted(),
      },
      ...others
        .map((other) => ({ ref: refOf(other.folder), dependsOn: dependsOn(other) }))
        .toSorted((a, b) => (a.ref < b.ref ? -1 : 1)),
    ],
  };
}

/** Writes the bill of a package for its tarball. */
export function writeBill(folder: string): void {
  writeFileSync(join(ROOT, folder, BILL_FILE), renderBill(createBill(folder, "bundled")));
}

export function renderBill(bill: Bill): string {
  return `${JSON.stringify(bill, null, 2)}\n`;
}

function toComponent(manifest: Parameters<typeof licenceOf>[0]): Component {
  const { name, version } = manifest;
  const [, group, base = name] = /^(@[^/]+)\/(.+)$/.exec(name) ?? [];
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  const licence = licenceOf(manifest);
  return {
    type: "library",
    "bom-ref": purl,
    ...(group !== undefined && { group }),
    name: base,
    version,
    purl,
    ...(licence !== "none" && { licenses: [toLicence(licence)] }),
  };
}

/** Several licences are an expression of SPDX. */
function toLicence(licence: string): object {
  return licence.includes(" ") ? { expression: licence } : { license: { id: licence } };
}

const LOCK_FILE = "pnpm-lock.yaml";

/** Adds the hash of the tarball in the lock file. The packages of the workspace have none. */
function withHash(component: Component): Component {
  const { group, name, version } = component;
  const key = `${group === undefined ? "" : `${group}/`}${name}@${version}`;
  const lock = readText(LOCK_FILE);
  const at = Math.max(lock.indexOf(`\n  ${key}:\n`), lock.indexOf(`\n  '${key}':\n`));
  if (at === -1) return component;
  const [, base64 = ""] = /integrity: sha512-([\w+/=]+)/.exec(lock.slice(at, at + 400)) ?? [];
  return {
    ...component,
    hashes: [{ alg: "SHA-512", content: Buffer.from(base64, "base64").toString("hex") }],
  };
}

function sortByRef(components: readonly Component[]): readonly Component[] {
  const byRef = new Map(components.map((component) => [component["bom-ref"], component]));
  return [...byRef.values()].toSorted((a, b) => (a["bom-ref"] < b["bom-ref"] ? -1 : 1));
}
