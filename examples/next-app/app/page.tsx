import { headers } from "next/headers";
import { findUser } from "./auth.ts";
import { BUDGET, getGateway } from "./gateway.ts";
import { Images } from "./images.tsx";
import { SignIn, SignOut } from "./sign-in.tsx";

/** The form to sign in, or what the user has spent and their images. */
export default async function Page() {
  const user = await findUser(await headers());
  if (user === undefined) return <SignIn />;
  const { settled, held } = await getGateway().usage.balance(`user:${user.id}`);
  return (
    <>
      <header>
        <h1>Pictures</h1>
        <p>
          <strong>{settled}</strong> of {BUDGET} spent{held !== "0" && `, ${held} reserved`}
        </p>
        <p className="email">{user.email}</p>
        <SignOut />
      </header>
      <Images key={user.id} userId={user.id} />
    </>
  );
}
