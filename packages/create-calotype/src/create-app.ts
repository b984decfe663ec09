import type { AppRequest } from "./ask.js";
import { askForRest, completeWithDefaults } from "./ask.js";
import { findProblem, STORES, type StoreChoice } from "./choices.js";
import { findTarballs, TarballsError } from "./find-tarballs.js";
import { planApp } from "./plan-app.js";
import { ArgumentsError, HELP, readArguments } from "./read-arguments.js";
import { checkFolder, FolderError, toAppName, writeApp } from "./write-app.js";

/** What the command uses of its process. */
export interface CommandHost {
  /** The version of this package, which the packages of the app get too. */
  readonly version: string;
  /** Whether a person can be asked: there is a terminal, and CI is not set. */
  readonly canAsk: boolean;
  /** The command that installs packages: `npm`, `pnpm`, `yarn` or `bun`. */
  readonly packageManager: string;
  /** Such as `22.19.0`. */
  readonly nodeVersion: string;
  readonly write: (text: string) => void;
  readonly writeError: (text: string) => void;
}

/** The versions of Node that run the apps. */
const NODE_NEEDED = [22, 19] as const;

/** What shells report for a program that Ctrl+C ended. */
const EXIT_CODE_OF_CTRL_C = 130;

/** Runs the command and returns its exit code: 1 after an error, 130 if the user cancels. */
export async function createApp(argv: readonly string[], host: CommandHost): Promise<number> {
  try {
    const given = readArguments(argv);
    if (given.help || given.version) {
      host.write(given.help ? HELP : `${host.version}\n`);
      return 0;
    }
    // Before the first question, so that no answer is lost.
    if (given.folder !== undefined) checkFolder(given.folder);
    const asks = host.canAsk && !given.yes;
    const request = asks ? await askForRest(given) : completeWithDefaults(given);
    if (request === undefined) return EXIT_CODE_OF_CTRL_C;
    const problem = findProblem(request.framework, request);
    if (problem !== undefined) throw new ArgumentsError(problem);
    const { folder, ...choices } = request;
    const packages = given.packages === undefined ? undefined : findTarballs(given.packages, folder);
    const names = { name: toAppName(folder), range: `^${host.version}`, packages };
    writeApp(folder, planApp(choices, names));
    if (!asks) host.write(describeChoices(request));
    host.write(describeNextSteps(request, host));
    return 0;
  } catch (error) {
    const isUsers = [ArgumentsError, FolderError, TarballsError].some((kind) => error instanceof kind);
    if (!isUsers || !(error instanceof Error)) throw error;
    host.writeError(`${error.message}\nnpm create calotype -- --help shows the options.\n`);
    return 1;
  }
}

/** The options of the app, so that defaults are no surprise. */
function describeChoices({ framework, providers, store, signIn }: AppRequest): string {
  return `Nothing was asked. Chosen: --framework ${framework} --providers ${providers.join(",")} --store ${store} --sign-in ${signIn}\n\n`;
}

/** A word of a command line. */
function quote(word: string): string {
  return /\s/.test(word) ? JSON.stringify(word) : word;
}

function describeNextSteps({ folder, framework, store, signIn }: AppRequest, host: CommandHost): string {
  const { packageManager } = host;
  const warning = isTooOld(host.nodeVersion)
    ? `\nThe app needs Node ${NODE_NEEDED.join(".")} or newer; this is Node ${host.nodeVersion}.\n`
    : "";
  const bun =
    framework === "bun" && packageManager !== "bun"
      ? "\nThe app runs on Bun, which must be installed.\n"
      : "";
  const cd = folder === "." ? "" : `  cd ${quote(folder)}\n`;
  const { servers }: StoreChoice = STORES[store];
  const start =
    servers === undefined
      ? ""
      : `\nBefore ${packageManager} run dev, start ${servers} and copy .env.example to .env: the README says how.\n`;
  const firstImage =
    signIn === "none"
      ? "The README there has a first request."
      : "Then open http://localhost:8787/, create an account and make an image.";
  return `The app is in ${folder}. Next:

${cd}  ${packageManager} install
  ${packageManager} run dev

${firstImage} No account at a provider is needed: \`dev\` emulates providers without a key.
${start}${warning}${bun}`;
}

function isTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major < NODE_NEEDED[0] || (major === NODE_NEEDED[0] && minor < NODE_NEEDED[1]);
}
