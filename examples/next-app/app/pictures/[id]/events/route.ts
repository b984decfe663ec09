import { callGateway } from "../../call-gateway.ts";

interface Context {
  readonly params: Promise<{ readonly id: string }>;
}

/** The events of a task: its status, and its images. In an app with users, check here that the task is the user's. */
export async function GET(request: Request, { params }: Context): Promise<Response> {
  const { id } = await params;
  return callGateway(`/v1/images/tasks/${encodeURIComponent(id)}/events`, { signal: request.signal });
}
