"use client";

import { createAuthClient } from "better-auth/react";
import { type FormEvent, useState, useTransition } from "react";

const auth = createAuthClient();

/** The signed-in user. `refetch` asks the server again. */
export function useUser() {
  const { data, isPending, refetch } = auth.useSession();
  return { user: data?.user, isPending, refetch };
}

/** A form for users with an account, and for new ones. */
export function SignIn() {
  const [problem, setProblem] = useState<string>();
  const [isBusy, startTransition] = useTransition();

  // Not with the form's `action`: React would empty the fields after a refusal.
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const { currentTarget, nativeEvent } = event;
    const submitter = nativeEvent instanceof SubmitEvent ? nativeEvent.submitter : null;
    const form = new FormData(currentTarget, submitter);
    const email = String(form.get("email"));
    const password = String(form.get("password"));
    startTransition(async () => {
      const { error } =
        form.get("do") === "sign-up"
          ? await auth.signUp.email({ name: email, email, password })
          : await auth.signIn.email({ email, password });
      setProblem(error === null ? undefined : (error.message ?? error.statusText));
    });
  };

  return (
    <main className="sign-in">
      <h1>Pictures</h1>
      <p>Sign in to make pictures, or create an account with any email address.</p>
      <form onSubmit={submit}>
        <label>
          Email
          <input name="email" type="email" autoComplete="username" required />
        </label>
        <label>
          Password, at least 8 characters
          <input name="password" type="password" autoComplete="current-password" minLength={8} required />
        </label>
        {problem && <p role="alert">{problem}</p>}
        <div className="buttons">
          <button type="submit" className="primary" name="do" value="sign-in" disabled={isBusy}>
            Sign in
          </button>
          <button type="submit" name="do" value="sign-up" disabled={isBusy}>
            Create account
          </button>
        </div>
      </form>
    </main>
  );
}

export function SignOut() {
  return (
    <button type="button" onClick={() => void auth.signOut()}>
      Sign out
    </button>
  );
}
