"use client";

import { createAuthClient } from "better-auth/client";
import { useRouter } from "next/navigation";
import { useActionState } from "react";
import { readField } from "./read-field.ts";

const auth = createAuthClient();

/** What the form shows after it was refused. */
interface Refused {
  readonly email: string;
  readonly message: string;
}

/** A form for users with an account, and for new ones. */
export function SignIn() {
  const router = useRouter();
  const submit = async (_before: Refused | undefined, form: FormData): Promise<Refused | undefined> => {
    const email = readField(form, "email");
    const password = readField(form, "password");
    const { error } =
      readField(form, "do") === "sign-up"
        ? await auth.signUp.email({ name: email, email, password })
        : await auth.signIn.email({ email, password });
    if (error !== null) return { email, message: error.message ?? error.statusText };
    router.refresh();
    return undefined;
  };
  const [refused, action, isBusy] = useActionState(submit, undefined);
  return (
    <main className="sign-in">
      <h1>Pictures</h1>
      <p>Sign in to make pictures, or create an account with any email address.</p>
      <form action={action}>
        <label>
          Email
          <input name="email" type="email" autoComplete="username" defaultValue={refused?.email} required />
        </label>
        <label>
          Password, at least 8 characters
          <input name="password" type="password" autoComplete="current-password" minLength={8} required />
        </label>
        {refused && <p role="alert">{refused.message}</p>}
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
  const router = useRouter();
  const signOut = async (): Promise<void> => {
    await auth.signOut();
    router.refresh();
  };
  return (
    <button type="button" onClick={() => void signOut()}>
      Sign out
    </button>
  );
}
