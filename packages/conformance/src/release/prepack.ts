// The script `prepack` of every published package: writes what only the tarball has into the folder of the package in the
// working directory. Git ignores these files.
import { relative } from "node:path";
import { ROOT } from "../support/workspace.ts";
import { writeBill } from "./bill-of-materials.ts";
import { writeThirdPartyLicences } from "./bundled-packages.ts";
import { copyDocs } from "./package-docs.ts";

const folder = relative(ROOT, process.cwd()).replaceAll("\\", "/");
copyDocs(folder);
writeBill(folder);
writeThirdPartyLicences(folder);
