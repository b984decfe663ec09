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
  /** Stores that do not work there, and why. */
  readonly without?: { readonly stores: readonly StoreName[]; readonly reason: string };
  /** Files of `templates/app` that its apps do not have. */
  readonly withoutFiles?: readonly string[];
}

/** A store that an app can have. */
export interface StoreChoice {
  readonly title: string;
  /** The servers that must run before the app starts, also for `npm run dev`. */
  readonly servers?: string;
}

/** The frameworks, by the name of their folder in `templates/frameworks`. */
export const FRAMEWORKS = {
  express: { title: "Express" },
  fastify: { title: "Fastify" },
  nestjs: { title: "NestJS" },
  next: { title: "Next.js" },
  hono: { title: "Hono on Node" },
  koa: { title: "Koa" },
  node: { title: "No framework: node:http" },
  bun: { title: "Bun" },
  workers: {
    title: "Hono on Cloudflare Workers",
    without: {
      stores: ["sqlite", "postgres", "postgres-redis"],
      reason: "A Worker has no files and no lasting connections.",
    },
    withoutFiles: ["Dockerfile", ".dockerignore"],
  },
  lambda: {
    title: "AWS Lambda",
    without: { stores: ["sqlite"], reason: "A function has no files that outlive it." },
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
  memory: { title: "Memory: nothing survives the process" },
  sqlite: { title: "SQLite: a file, for one machine" },
  postgres: { title: "PostgreSQL: for any number of machines", servers: "PostgreSQL" },
  "postgres-redis": {
    title: "PostgreSQL and Redis: machines also share limits",
    servers: "PostgreSQL and Redis",
  },
} as const satisfies Record<string, StoreChoice>;

export type FrameworkName = keyof typeof FRAMEWORKS;
export type ProviderName = keyof typeof PROVIDERS;
export type StoreName = keyof typeof STORES;

/** What an app is made of. */
export interface AppChoices {
  readonly framework: FrameworkName;
  /** At least one. The README of the app shows a request to the first. */
  readonly providers: readonly ProviderName[];
  readonly store: StoreName;
}

/** The names of a table of choices, in its order. */
export function namesOf<Name extends string>(table: Readonly<Record<Name, unknown>>): Name[] {
  const isName = (key: string): key is Name => Object.hasOwn(table, key);
  return Object.keys(table).filter(isName);
}

/** The stores that work with a framework. */
export function storesOf(framework: FrameworkName): StoreName[] {
  const { without }: FrameworkChoice = FRAMEWORKS[framework];
  return namesOf(STORES).filter((store) => !without?.stores.includes(store));
}

/** Returns why a store does not work with a framework, or `undefined` if it does. */
export function findStoreProblem(framework: FrameworkName, store: StoreName): string | undefined {
  const { title, without }: FrameworkChoice = FRAMEWORKS[framework];
  if (without === undefined || !without.stores.includes(store)) return undefined;
  return `The store ${store} does not work with ${title}. ${without.reason} Choose one of: ${storesOf(framework).join(", ")}.`;
}
