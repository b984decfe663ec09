import { generateApiKey, hashApiKey } from "../auth/api-key.js";
import {
  CALLER_HELP,
  type CallerCommandHost,
  isCallerCommand,
  runCallerCommand,
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
  if (isCallerCommand(word)) return runCallerCommand(word, others, host);
  if (others.length === 0) {
    if (word === undefined) return showNewKey(host);
    if (word === "--hash") return showHash(host);
    if (word === "--help" || word === "-h") return showHelp(host);
  }
  // The message does not repeat the arguments, because one of them may be a key.
  host.complain(`These arguments are not valid.\n\n${HELP}`);
  return 2;
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
