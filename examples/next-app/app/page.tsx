"use client";

import { type FormEvent, useEffect, useState } from "react";
import { submitPicture } from "./pictures/submit-picture.ts";

/** A task, as the gateway sends it in the event `status`. */
interface Task {
  readonly status: "queued" | "in_progress" | "completed" | "failed" | "cancelled";
  readonly images?: readonly { readonly url?: string }[];
  readonly result?: { readonly data: readonly { readonly url?: string }[] };
  readonly error?: { readonly message: string };
}

/** A form that submits a task, and the progress of the task. The id is in the address, so the page can be reloaded. */
export default function Page() {
  const [id, setId] = useState<string>();
  const [problem, setProblem] = useState("");
  useEffect(() => setId(location.hash.slice(1) || undefined), []);

  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const submitted = await submitPicture(new FormData(event.currentTarget));
    setProblem(submitted.error ?? "");
    if (submitted.id === undefined) return;
    location.hash = submitted.id;
    setId(submitted.id);
  };

  return (
    <main>
      <form onSubmit={(event) => void submit(event)}>
        <input name="prompt" aria-label="Prompt" defaultValue="Two pictures of a lighthouse" required />{" "}
        <button type="submit">Make pictures</button>
      </form>
      {problem && <p role="alert">{problem}</p>}
      {id && <Progress key={id} id={id} />}
    </main>
  );
}

function Progress({ id }: { readonly id: string }) {
  const task = useTask(id);
  if (task === undefined) return <p>Loading …</p>;
  const pictures = task.result?.data ?? task.images ?? [];
  return (
    <section aria-live="polite">
      <p>
        The task is <strong>{task.status}</strong>. {task.error?.message}
      </p>
      {pictures.map(({ url }) => (
        <img key={url} src={url} alt="" width="300" />
      ))}
    </section>
  );
}

/** Follows a task until it has ended. The browser reconnects by itself if the connection breaks. */
function useTask(id: string): Task | undefined {
  const [task, setTask] = useState<Task>();
  useEffect(() => {
    const events = new EventSource(`/pictures/${id}/events`);
    const read = ({ data }: MessageEvent<string>): void => {
      const next: Task = JSON.parse(data);
      setTask(next);
      if (next.status !== "queued" && next.status !== "in_progress") events.close();
    };
    events.addEventListener("status", read);
    events.addEventListener("image", ({ data }: MessageEvent<string>) => {
      const { image }: { readonly image: { readonly url?: string } } = JSON.parse(data);
      setTask((known) => known && { ...known, images: [...(known.images ?? []), image] });
    });
    return () => events.close();
  }, [id]);
  return task;
}
