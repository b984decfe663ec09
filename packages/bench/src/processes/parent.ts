/** A message of a child process; all are sent as JSON. */
export type ChildMessage =
  | { readonly kind: "listening"; readonly port: number }
  | { readonly kind: "reply"; readonly reply: unknown }
  | { readonly kind: "failure"; readonly error: string };

/** Answers what the process asks that started this one. Questions are JSON. */
export function answerParent(answer: (question: string) => unknown): void {
  process.on("message", (question) => {
    Promise.resolve(String(question))
      .then(answer)
      .then(
        (reply) => tellParent({ kind: "reply", reply: reply ?? null }),
        (error: unknown) => tellParent({ kind: "failure", error: String(error) }),
      );
  });
}

/** Sends a message to the process that started this one. */
export function tellParent(message: ChildMessage): void {
  process.send?.(JSON.stringify(message));
}

/** Ends this process when the one that started it is gone. */
export function endWithParent(): void {
  process.on("disconnect", () => process.exit());
}
