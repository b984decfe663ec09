import { CANCEL_SYMBOL, cancel, multiselect, select, text } from "@clack/prompts";
import {
  type AppChoices,
  FRAMEWORKS,
  namesOf,
  PROVIDERS,
  type ProviderName,
  SIGN_INS,
  STORES,
  signInsOf,
  storesOf,
} from "./choices.js";
import type { Arguments } from "./read-arguments.js";
import { checkFolder, FolderError } from "./write-app.js";

/** Where an app goes, and what it is made of. */
export interface AppRequest extends AppChoices {
  readonly folder: string;
}

const DEFAULT_FOLDER = "calotype-app";
const DEFAULT_PROVIDERS: readonly ProviderName[] = ["seedream", "qwen-image"];

/** Completes the arguments without a question. */
export function completeWithDefaults({ folder, framework, providers, store, signIn }: Arguments): AppRequest {
  const chosen = framework ?? "express";
  return {
    folder: folder ?? DEFAULT_FOLDER,
    framework: chosen,
    providers: providers ?? DEFAULT_PROVIDERS,
    store: store ?? defaultStore(chosen),
    signIn: signIn ?? "none",
  };
}

/** Asks in the terminal for what the arguments do not say. Returns `undefined` if the user cancels. */
export async function askForRest(given: Arguments): Promise<AppRequest | undefined> {
  try {
    const folder = given.folder ?? (await askForFolder());
    const framework =
      given.framework ??
      answered(
        await select({
          message: "Framework",
          options: namesOf(FRAMEWORKS).map((value) => ({ value, label: FRAMEWORKS[value].title })),
        }),
      );
    const providers =
      given.providers ??
      answered(
        await multiselect({
          message: "Providers",
          options: namesOf(PROVIDERS).map((value) => ({ value, label: PROVIDERS[value].title })),
          initialValues: [...DEFAULT_PROVIDERS],
          required: true,
        }),
      );
    const store = given.store ?? (await askForStore(framework));
    const signIn = given.signIn ?? (await askForSignIn(framework));
    return { folder, framework, providers, store, signIn };
  } catch (error) {
    if (!(error instanceof Canceled)) throw error;
    cancel("Nothing was written.");
    return undefined;
  }
}

/** SQLite survives a restart and needs no server. */
function defaultStore(framework: AppChoices["framework"]): AppChoices["store"] {
  return storesOf(framework).includes("sqlite") ? "sqlite" : "memory";
}

class Canceled extends Error {}

/** The answer to a question. @throws Canceled after Ctrl+C */
function answered<T>(answer: T | typeof CANCEL_SYMBOL): T {
  if (answer === CANCEL_SYMBOL) throw new Canceled();
  return answer;
}

async function askForStore(framework: AppChoices["framework"]): Promise<AppChoices["store"]> {
  const stores = storesOf(framework);
  if (stores.length === 1) return defaultStore(framework);
  const store = await select({
    message: "Where charges, budgets and limits are stored",
    options: stores.map((value) => ({ value, label: STORES[value].title })),
    initialValue: defaultStore(framework),
  });
  return answered(store);
}

async function askForSignIn(framework: AppChoices["framework"]): Promise<AppChoices["signIn"]> {
  const signIns = signInsOf(framework);
  if (signIns.length === 1) return "none";
  const signIn = await select({
    message: "Does your app have signed-in users?",
    options: signIns.map((value) => ({ value, label: SIGN_INS[value].title })),
  });
  return answered(signIn);
}

async function askForFolder(): Promise<string> {
  const folder = await text({
    message: "Folder",
    placeholder: DEFAULT_FOLDER,
    defaultValue: DEFAULT_FOLDER,
    validate: (value) => findFolderProblem(value || DEFAULT_FOLDER),
  });
  return answered(folder);
}

function findFolderProblem(folder: string): string | undefined {
  try {
    checkFolder(folder);
    return undefined;
  } catch (error) {
    if (error instanceof FolderError) return error.message;
    throw error;
  }
}
