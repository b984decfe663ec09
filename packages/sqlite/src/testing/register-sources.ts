import { registerHooks } from "node:module";

/**
 * Lets a child process run the TypeScript sources. Node strips the types, but does not map `.js` to `.ts` in imports.
 */
registerHooks({
  resolve: (specifier, context, nextResolve) => {
    const isOurs = specifier.startsWith(".") && context.parentURL?.endsWith(".ts") === true;
    return nextResolve(isOurs ? specifier.replace(/\.js$/, ".ts") : specifier, context);
  },
});
