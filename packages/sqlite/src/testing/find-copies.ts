/** The files that a process would have left, and the lines that it would have printed, if it had been killed at a moment. */
export interface Copy {
  readonly path: string;
  readonly lines: readonly string[];
}

/** Reads what a program with `copyAfterWrites` printed. */
export function findCopies(printed: readonly string[]): readonly Copy[] {
  const lines: string[] = [];
  const copies: Copy[] = [];
  for (const line of printed) {
    const [word, path = ""] = line.split(" ");
    if (word === "copy") copies.push({ path, lines: [...lines] });
    else lines.push(line);
  }
  return copies;
}
