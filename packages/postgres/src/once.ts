/** Does something once, also for those who ask meanwhile; where it fails the next one to ask tries again. */
export function once(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  const attempt = async (): Promise<void> => {
    try {
      await work();
    } catch (error) {
      running = undefined;
      throw error;
    }
  };
  return async () => await (running ??= attempt());
}
