import { registerHooks } from "node:module";

// For processes that tests start on the sources: Node strips the types, but takes "./name.js" by its word.
registerHooks({
  resolve(specifier, context, nextResolve) {
    const isOurs = specifier.startsWith(".") && context.parentURL?.includes("/node_modules/") === false;
    return nextResolve(isOurs ? specifier.replace(/\.js$/, ".ts") : specifier, context);
  },
});
