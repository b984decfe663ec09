/** A message of a child process; all are sent as JSON. */
export type ChildMessage =
  | { readonly kind: "listening"; readonly port: number }
  | { readonly kind: "reply"; readonly reply: unknown }
  | { readonly kind: "failure"; readonly error: string };

/** Replies to the questions of the parent process. Questions are JSON. */
export function replyToParent(respond: (question: string) => unknown): void {
  process.on("message", (question) => {
    Promise.resolve(String(question))
      .then(respond)
      .then(
        (reply) => tellParent({ kind: "reply", reply: reply ?? null }),
        (error: unknown) => tellParent({ kind: "failure", error: String(error) }),
      );
  });
}

/** Sends a message to the parent process. */
export function tellParent(message: ChildMessage): void {
  process.send?.(JSON.stringify(message));
}

/** Ends this process when its parent process has ended. */
export function endWithParent(): void {
  process.on("disconnect", () => process.exit());
}
