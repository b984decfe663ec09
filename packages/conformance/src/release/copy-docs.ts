// The script `prepack` of every published package: writes the changelog and the pages of the package in the working
// directory into its folder, so that its tarball contains them.
import { relative } from "node:path";
import { ROOT } from "../support/workspace.ts";
import { copyDocs } from "./package-docs.ts";

copyDocs(relative(ROOT, process.cwd()).replaceAll("\\", "/"));
