/** A stream of bytes that the test controls, piece by piece. */
export interface ScriptedSource {
  readonly body: AsyncIterable<Uint8Array>;
  /** Adds a piece to the stream. */
  send(piece: string | Uint8Array): void;
  end(): void;
  /** Breaks off the stream. A pending read rejects. */
  fail(error: Error): void;
  /** The number of pieces that were requested. */
  readonly asked: () => number;
  /** Whether the reader has reached the end, or has ended the source. */
  readonly isEnded: () => boolean;
}

type Step = { readonly piece: Uint8Array } | { readonly error: Error } | "end";

export function createScriptedSource(...pieces: readonly string[]): ScriptedSource {
  const steps: Step[] = [];
  let asked = 0;
  let isEnded = false;
  let wake: (() => void) | undefined;

  async function* run(): AsyncGenerator<Uint8Array, void> {
    try {
      for (;;) {
        asked++;
        const step = steps.shift() ?? (await nextStep());
        if (step === "end") return;
        if ("error" in step) throw step.error;
        yield step.piece;
      }
    } finally {
      isEnded = true;
    }
  }

  const nextStep = async (): Promise<Step> => {
    for (;;) {
      const step = steps.shift();
      if (step !== undefined) return step;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };

  const add = (step: Step): void => {
    steps.push(step);
    wake?.();
  };

  const send = (piece: string | Uint8Array): void =>
    add({ piece: typeof piece === "string" ? new TextEncoder().encode(piece) : piece });
  for (const piece of pieces) send(piece);
  return {
    body: run(),
    send,
    end: () => add("end"),
    fail: (error) => add({ error }),
    asked: () => asked,
    isEnded: () => isEnded,
  };
}

/** Creates a source that contains these pieces and ends. */
export function endedSource(...pieces: readonly string[]): ScriptedSource {
  const source = createScriptedSource(...pieces);
  source.end();
  return source;
}
