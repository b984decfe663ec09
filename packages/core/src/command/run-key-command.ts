import { generateApiKey, hashApiKey } from "../auth/api-key.js";

/** What the command needs of its process. */
export interface KeyCommandHost {
  /** To the standard output. */
  write(text: string): void;
  /** To the standard error. */
  complain(text: string): void;
  /** True when somebody types the standard input. */
  readonly isTyped: boolean;
  /** The first line of the standard input. */
  readLine(): Promise<string>;
}

const HELP = `API keys for the callers of a calotype gateway.

Usage: calotype-key            makes a new key, and shows it and its hash
       calotype-key --hash     reads a key from the standard input, and shows its hash
       calotype-key --help     shows this text

A key is never taken from the arguments, which stand in the history of the shell and in the list of processes.
`;

/** Runs the command to its end. The exit code: 0 done, 2 what was asked makes no sense. */
export async function runKeyCommand(words: readonly string[], host: KeyCommandHost): Promise<number> {
  const [word, ...others] = words;
  if (others.length === 0) {
    if (word === undefined) return showNewKey(host);
    if (word === "--hash") return showHash(host);
    if (word === "--help" || word === "-h") return showHelp(host);
  }
  // The words are not repeated: one of them may be a key.
  host.complain(`There are no such options.\n\n${HELP}`);
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

The key is for the caller; nobody can show it again. The gateway needs the hash only:

  callers: [{ id: "<name of the caller>", hash: "${hash}" }]
`);
  return 0;
}

async function showHash(host: KeyCommandHost): Promise<number> {
  if (host.isTyped) host.complain("Key, then Enter: ");
  const key = (await host.readLine()).trim();
  // What no Authorization header can carry is no key, but a slip.
  if (!/^[\x21-\x7e]+$/.test(key)) {
    host.complain("A key is one line of letters, digits and signs, without spaces.\n");
    return 2;
  }
  host.write(`${hashApiKey(key)}\n`);
  return 0;
}
