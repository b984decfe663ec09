/** A provider that an app can have. */
export interface ProviderChoice {
  readonly title: string;
  /** Its name in `templates/app/gateway.ts`. */
  readonly identifier: string;
  /** The model of the first request in the README of the app. */
  readonly model: string;
}

/** A framework, runtime or host that an app can have. */
export interface FrameworkChoice {
  readonly title: string;
  /** Stores and kinds of sign-in that do not work there, and why. */
  readonly without?: readonly Without[];
  /** Files of `templates/app` that its apps do not have. */
  readonly withoutFiles?: readonly string[];
  /** The folder of the page, in a framework that bundles it. Default: `page`, which the app bundles itself. */
  readonly pageFolder?: string;
}

interface Without {
  readonly choices: readonly (StoreName | SignInName)[];
  readonly reason: string;
}

/** A store that an app can have. */
export interface StoreChoice {
  readonly title: string;
  /** The servers that must run before the app starts, also for `npm run dev`. */
  readonly servers?: string;
  /** Where users are stored, by the name of the folder in `templates/user-databases`. */
  readonly userDatabase: "sqlite" | "postgres";
}

/** How the users of an app sign in. */
export interface SignInChoice {
  readonly title: string;
}

/** The frameworks, by the name of their folder in `templates/frameworks`. */
export const FRAMEWORKS = {
  express: { title: "Express" },
  fastify: { title: "Fastify" },
  nestjs: {
    title: "NestJS",
    without: [
      {
        choices: ["better-auth"],
        reason:
          "The app bundles its page from source files when it starts, and a Nest app has only compiled ones.",
      },
    ],
  },
  next: { title: "Next.js", pageFolder: "app" },
  hono: { title: "Hono on Node" },
  koa: { title: "Koa" },
  node: { title: "No framework: node:http" },
  bun: { title: "Bun" },
  workers: {
    title: "Hono on Cloudflare Workers",
    without: [
      {
        choices: ["sqlite", "postgres", "postgres-redis", "better-auth"],
        reason: "A Worker has no files and no lasting connections.",
      },
    ],
    withoutFiles: ["Dockerfile", ".dockerignore"],
  },
  lambda: {
    title: "AWS Lambda",
    without: [
      { choices: ["sqlite"], reason: "A function has no files that outlive it." },
      {
        choices: ["better-auth"],
        reason:
          "The app bundles its page from source files when it starts, and a function has only its bundle.",
      },
    ],
  },
} as const satisfies Record<string, FrameworkChoice>;

/** The providers, by the name of their folder in `templates/providers`. */
export const PROVIDERS = {
  seedream: { title: "Seedream (Volcengine Ark)", identifier: "seedream", model: "seedream-4-5-251128" },
  "qwen-image": { title: "Qwen-Image (DashScope)", identifier: "qwenImage", model: "qwen-image-max" },
  openai: { title: "GPT Image (OpenAI)", identifier: "openai", model: "gpt-image-2" },
  gemini: { title: "Gemini (Google)", identifier: "gemini", model: "gemini-nano-banana-2.1" },
} as const satisfies Record<string, ProviderChoice>;

/** The stores, by the name of their folder in `templates/stores`. */
export const STORES = {
  memory: { title: "Memory: nothing survives the process", userDatabase: "sqlite" },
  sqlite: { title: "SQLite: a file, for one machine", userDatabase: "sqlite" },
  postgres: {
    title: "PostgreSQL: for any number of machines",
    servers: "PostgreSQL",
    userDatabase: "postgres",
  },
  "postgres-redis": {
    title: "PostgreSQL and Redis: machines also share limits",
    servers: "PostgreSQL and Redis",
    userDatabase: "postgres",
  },
} as const satisfies Record<string, StoreChoice>;

/** The kinds of sign-in, by the name of their folder in `templates/sign-ins`; `none` has no folder. */
export const SIGN_INS = {
  none: { title: "No: programs send keys" },
  "better-auth": { title: "Yes: better-auth, with a page that makes images" },
} as const satisfies Record<string, SignInChoice>;

export type FrameworkName = keyof typeof FRAMEWORKS;
export type ProviderName = keyof typeof PROVIDERS;
export type StoreName = keyof typeof STORES;
export type SignInName = keyof typeof SIGN_INS;

/** What an app is made of. */
export interface AppChoices {
  readonly framework: FrameworkName;
  /** At least one. The README of the app shows a request to the first. */
  readonly providers: readonly ProviderName[];
  readonly store: StoreName;
  readonly signIn: SignInName;
}

/** The names of a table of choices, in its order. */
export function namesOf<Name extends string>(table: Readonly<Record<Name, unknown>>): Name[] {
  const isName = (key: string): key is Name => Object.hasOwn(table, key);
  return Object.keys(table).filter(isName);
}

/** The stores that work with a framework. */
export function storesOf(framework: FrameworkName): StoreName[] {
  return namesOf(STORES).filter((store) => findWithout(framework, store) === undefined);
}

/** The kinds of sign-in that work with a framework. */
export function signInsOf(framework: FrameworkName): SignInName[] {
  return namesOf(SIGN_INS).filter((signIn) => findWithout(framework, signIn) === undefined);
}

/** Returns why a store or a kind of sign-in does not work with a framework, or `undefined` if both do or are not chosen yet. */
export function findProblem(
  framework: FrameworkName,
  { store, signIn }: { readonly store: StoreName | undefined; readonly signIn: SignInName | undefined },
): string | undefined {
  const { title } = FRAMEWORKS[framework];
  const describe = (name: string, without: Without, others: readonly string[]): string =>
    `${name} does not work with ${title}. ${without.reason} Choose one of: ${others.join(", ")}.`;
  const withoutStore = store && findWithout(framework, store);
  if (withoutStore) return describe(`The store ${store}`, withoutStore, storesOf(framework));
  const withoutSignIn = signIn && findWithout(framework, signIn);
  if (withoutSignIn) return describe(`The sign-in ${signIn}`, withoutSignIn, signInsOf(framework));
  return undefined;
}

function findWithout(framework: FrameworkName, choice: StoreName | SignInName): Without | undefined {
  const { without = [] }: FrameworkChoice = FRAMEWORKS[framework];
  return without.find(({ choices }) => choices.includes(choice));
}
