/** Why a reference image cannot be used. Each provider has its own code and message for it. */
export type ReferenceProblem =
  | "empty"
  | "not-a-link"
  | "broken-base64"
  | "not-an-image"
  | "too-large"
  | "unreachable";

export class BadReference extends Error {
  readonly problem: ReferenceProblem;

  constructor(problem: ReferenceProblem) {
    super(problem);
    this.name = "BadReference";
    this.problem = problem;
  }
}
