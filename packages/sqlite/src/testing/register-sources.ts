import { registerHooks } from "node:module";

/** Lets a child process run the sources as they are: Node strips the types, but takes names of files literally. */
registerHooks({
  resolve: (specifier, context, nextResolve) => {
    const isOurs = specifier.startsWith(".") && context.parentURL?.endsWith(".ts") === true;
    return nextResolve(isOurs ? specifier.replace(/\.js$/, ".ts") : specifier, context);
  },
});
