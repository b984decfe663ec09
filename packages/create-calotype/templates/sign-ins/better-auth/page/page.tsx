"use client";

import { Images } from "./images.tsx";
import { SignIn, SignOut, useUser } from "./sign-in.tsx";

/** The form to sign in, or the user's images. */
export default function Page() {
  const { user, isPending } = useUser();
  if (isPending) return null;
  if (user === undefined) return <SignIn />;
  return (
    <>
      <header>
        <h1>Pictures</h1>
        <p className="email">{user.email}</p>
        <SignOut />
      </header>
      <Images key={user.id} userId={user.id} />
    </>
  );
}
