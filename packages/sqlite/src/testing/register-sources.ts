import { registerHooks } from "node:module";

/** Lets a child process run the sources as they are: Node strips the types, but takes names of files literally. */
registerHooks({
  resolve: (specifier, context, nextResolve) =>
    nextResolve(specifier.startsWith(".") ? specifier.replace(/\.js$/, ".ts") : specifier, context),
});
