import { generateApiKey, hashApiKey } from "../../auth/api-key.js";
import { findNearest } from "./find-nearest.js";
import {
  CALLER_COMMANDS,
  CALLER_HELP,
  type CallerCommandHost,
  isCallerCommand,
  runCallerCommand,
  SEE_HELP,
} from "./run-caller-command.js";

/** The parts of the process that the command uses. */
export interface KeyCommandHost extends CallerCommandHost {
  /** True if stdin is a terminal. */
  readonly isTyped: boolean;
  /** Returns the first line of stdin. */
  readLine(): Promise<string>;
}

const HELP = `API keys for the callers of a calotype gateway.

Usage: calotype-key            creates a new key and prints it with its hash
       calotype-key --hash     reads a key from stdin and prints its hash
       calotype-key --help     prints this help

${CALLER_HELP}
The command does not accept a key as an argument, because arguments appear in the history of the shell and in the list of processes.
`;

/** Runs the command. Returns the exit code: 0, 1 if it failed, or 2 for wrong arguments or a wrong key. */
export async function runKeyCommand(words: readonly string[], host: KeyCommandHost): Promise<number> {
  const [word, ...others] = words;
  if (word === "help" || words.includes("--help") || words.includes("-h")) return showHelp(host);
  if (isCallerCommand(word)) return runCallerCommand(word, others, host);
  if (others.length === 0) {
    if (word === undefined) return showNewKey(host);
    if (word === "--hash") return showHash(host);
  }
  host.complain(`${describeUnknown(word ?? "")}\n${SEE_HELP}`);
  return 2;
}

/** Repeats a word only if it cannot be a key: it has no digits and no capital letters, and is near a command or an option. */
function describeUnknown(word: string): string {
  const nearest = /^[a-z-]{1,20}$/.test(word)
    ? findNearest(word, [...CALLER_COMMANDS, "--hash", "--help"])
    : undefined;
  if (nearest === undefined || nearest === word)
    return "These arguments are not valid: the first word is no command.";
  return `There is no ${word.startsWith("-") ? "option" : "command"} ${word}. Did you mean ${nearest}?`;
}

function showHelp(host: KeyCommandHost): number {
  host.write(HELP);
  return 0;
}

function showNewKey(host: KeyCommandHost): number {
  const { key, hash } = generateApiKey();
  host.write(`Key   ${key}
Hash  ${hash}

Give the key to the caller. It cannot be shown again. The gateway needs only the hash:

  callers: [{ id: "<name of the caller>", hash: "${hash}" }]
`);
  return 0;
}

async function showHash(host: KeyCommandHost): Promise<number> {
  if (host.isTyped) host.complain("Key, then Enter: ");
  const key = (await host.readLine()).trim();
  // An Authorization header cannot contain other characters, so the input is a mistake.
  if (!/^[\x21-\x7e]+$/.test(key)) {
    host.complain("A key must be one line of letters, digits and signs, without spaces.\n");
    return 2;
  }
  host.write(`${hashApiKey(key)}\n`);
  return 0;
}
