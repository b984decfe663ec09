/**
 * Next.js calls this once, when the server starts. So a missing variable or a wrong option is in the log before the first
 * request, and tasks of the process before this one continue.
 */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== "nodejs") return;
  const { load } = await import("./load.ts");
  const { gateway } = await load();
  gateway.start();
}
