"use server";

import { callGateway } from "./call-gateway.ts";

/** The id of the task, or why there is none. */
export type Submitted =
  | { readonly id: string; readonly error?: undefined }
  | { readonly id?: undefined; readonly error: string };

/** Submits a task. Proxies that end long requests, and a page that is closed, do not affect it. */
export async function submitPicture(form: FormData): Promise<Submitted> {
  const prompt = form.get("prompt");
  const response = await callGateway("/v1/images/generations", {
    method: "POST",
    headers: { "content-type": "application/json", prefer: "respond-async" },
    body: JSON.stringify({ model: "seedream-4-5-251128", prompt, n: 2, size: "2048x2048" }),
  });
  const body: { id?: string; error?: { message: string } } = await response.json();
  return body.id === undefined
    ? { error: body.error?.message ?? "The task was not accepted." }
    : { id: body.id };
}
