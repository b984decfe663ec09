import { parseArgs } from "node:util";
import { type AppChoices, FRAMEWORKS, findProblem, namesOf, PROVIDERS, SIGN_INS, STORES } from "./choices.js";

/** What the command line says. What it does not say is `undefined`. */
export interface Arguments {
  readonly folder: string | undefined;
  readonly framework: AppChoices["framework"] | undefined;
  readonly providers: AppChoices["providers"] | undefined;
  readonly store: AppChoices["store"] | undefined;
  readonly signIn: AppChoices["signIn"] | undefined;
  /** A folder with tarballs of our packages, in place of npm. */
  readonly packages: string | undefined;
  /** Use defaults in place of questions. */
  readonly yes: boolean;
  readonly help: boolean;
  readonly version: boolean;
}

/** A command line that cannot be followed. The message says what to write instead. */
export class ArgumentsError extends Error {
  override readonly name = "ArgumentsError";
}

export const HELP = `Writes a small app with the image-generation gateway calotype.

  npm create calotype [folder] [-- options]

  --framework NAME   ${namesOf(FRAMEWORKS).join(", ")}
  --providers LIST   One or more of ${namesOf(PROVIDERS).join(", ")}, separated by commas
  --store NAME       ${namesOf(STORES).join(", ")}
  --sign-in NAME     ${namesOf(SIGN_INS).join(", ")}
  --packages FOLDER  Tarballs of the packages, as npm run pack of the repository writes them, in place of npm
  --yes, -y          Ask nothing: what is not named has its default
  --help, -h         Show this text
  --version          Show the version

Defaults: the folder calotype-app, express, seedream and qwen-image, sqlite where it works, else memory, and no sign-in.
Without a terminal, and with CI set, nothing is asked. A folder that is not empty is never written to.
`;

/**
 * Reads the arguments of the command.
 *
 * @throws ArgumentsError for an unknown option or value, or choices that do not work together
 */
export function readArguments(argv: readonly string[]): Arguments {
  const { values, positionals } = parse(argv);
  if (positionals.length > 1) throw new ArgumentsError(`One folder is possible, not ${positionals.length}.`);
  const {
    framework,
    store,
    providers,
    "sign-in": signIn,
    packages,
    yes = false,
    help = false,
    version = false,
  } = values;
  const read = {
    folder: positionals[0],
    framework: framework === undefined ? undefined : oneOf(FRAMEWORKS, "--framework", framework),
    providers: providers === undefined ? undefined : readProviders(providers),
    store: store === undefined ? undefined : oneOf(STORES, "--store", store),
    signIn: signIn === undefined ? undefined : oneOf(SIGN_INS, "--sign-in", signIn),
    packages,
    yes,
    help,
    version,
  };
  if (read.framework !== undefined) {
    const problem = findProblem(read.framework, read);
    if (problem !== undefined) throw new ArgumentsError(problem);
  }
  return read;
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        framework: { type: "string" },
        providers: { type: "string" },
        store: { type: "string" },
        "sign-in": { type: "string" },
        packages: { type: "string" },
        yes: { type: "boolean", short: "y" },
        help: { type: "boolean", short: "h" },
        version: { type: "boolean" },
      },
    });
  } catch (error) {
    throw new ArgumentsError(error instanceof Error ? error.message : String(error));
  }
}

function readProviders(list: string): AppChoices["providers"] {
  const names = list.split(",").map((name) => name.trim());
  return [...new Set(names.map((name) => oneOf(PROVIDERS, "--providers", name)))];
}

function oneOf<Name extends string>(
  table: Readonly<Record<Name, unknown>>,
  option: string,
  value: string,
): Name {
  const found = namesOf(table).find((name) => name === value);
  if (found !== undefined) return found;
  throw new ArgumentsError(`${option} does not know "${value}". Choose from: ${namesOf(table).join(", ")}.`);
}
