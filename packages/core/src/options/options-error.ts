import type { OptionsProblem } from "./options.js";

/** Thrown by `createGateway` and `composeGateway`. Contains every problem of the options. */
export class GatewayOptionsError extends Error {
  override readonly name = "GatewayOptionsError";
  readonly problems: readonly OptionsProblem[];

  constructor(problems: readonly OptionsProblem[]) {
    const lines = problems.map(({ path, message }) => `  ${path === "" ? "options" : path} ${message}`);
    super(`The options of the gateway are wrong:\n${lines.join("\n")}`);
    this.problems = problems;
  }
}
