"use client";

import { type FormEvent, useState } from "react";
import { type Created, createCaller } from "./create-caller.ts";

/** A form for the operator, which creates a caller and shows its key once. */
export default function Page() {
  const [created, setCreated] = useState<Created>();
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    setCreated(await createCaller(new FormData(event.currentTarget)));
  };
  return (
    <main>
      <form onSubmit={(event) => void submit(event)}>
        <input
          name="operator"
          type="password"
          aria-label="Operator's key"
          placeholder="operator's key"
          required
        />{" "}
        <input name="id" aria-label="Id" placeholder="id of the caller" required />{" "}
        <input name="budget" aria-label="Budget" placeholder="budget for each month, such as 50" />{" "}
        <button type="submit">Create caller</button>
      </form>
      {created?.error && <p role="alert">{created.error}</p>}
      {created?.key && (
        <p>
          Give this key to the caller. It cannot be shown again: <code>{created.key}</code>
        </p>
      )}
    </main>
  );
}
