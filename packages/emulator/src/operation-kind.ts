/** What a request does. The list is the one that faults are checked against. */
export const operationKinds = ["generation", "edit", "submit", "poll", "result", "cancel", "link"] as const;

/**
 * `generation` and `edit` respond with images, `submit` creates a task, `poll` asks for its state, `result` for its
 * images, `cancel` ends it. `link` is the download of a result link.
 */
export type OperationKind = (typeof operationKinds)[number];
