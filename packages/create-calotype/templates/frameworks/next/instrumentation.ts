/**
 * Next.js calls this once, when the server starts. So a missing variable or a wrong option is in the log before the first
 * request, and tasks of the process before this one continue.
 */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== "nodejs") return;
  const { load } = await import("./load.ts");
  const { gateway } = await load();
  gateway.start();
  if (process.env.NODE_ENV === "development") {
    const studio = `http://localhost:${process.env.PORT}/studio`;
    console.log(`The studio: ${studio}. When it is opened, the link for the browser is printed here.`);
  }
}
