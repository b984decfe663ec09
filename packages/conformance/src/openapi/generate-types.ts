import { registerHooks } from "node:module";

/**
 * Returns the TypeScript types of an OpenAPI document. openapi-typescript uses the compiler's API, which TypeScript 7 does
 * not have, so it gets TypeScript 5.
 */
export async function generateTypes(document: object): Promise<string> {
  const compiler = import.meta.resolve("typescript5");
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      next(specifier === "typescript" && isGenerator(context.parentURL) ? compiler : specifier, context),
  });
  try {
    const { default: generate, astToString } = await import("openapi-typescript");
    return astToString(await generate(JSON.stringify(document)));
  } finally {
    hooks.deregister();
  }
}

function isGenerator(parent = ""): boolean {
  return parent.includes("/node_modules/openapi-typescript/");
}
