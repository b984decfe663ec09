import { CookieJar } from "./cookie-jar.js";
import type { SignInClient } from "./sign-in-app.js";

/** The password of every user. */
export const PASSWORD = "correct horse battery";

const toJson = (body: unknown): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

/** The first field of this name in a JSON response, which has a string. */
export async function readString(response: Response, field: string): Promise<string> {
  const text = await response.text();
  const value = new RegExp(`"${field}":"([^"]*)"`).exec(text)?.[1];
  if (value === undefined) throw new Error(`There is no ${field} in ${response.status} ${text}`);
  return value;
}

export const betterAuthClient: SignInClient = {
  async signIn(url, name) {
    const jar = new CookieJar();
    const body = toJson({ name, email: `${crypto.randomUUID()}@mail.test`, password: PASSWORD });
    const response = await jar.send(`${url}/api/auth/sign-up/email`, body);
    return { id: await readString(response, "id"), jar };
  },
  async signOut(url, { jar }) {
    await jar.send(`${url}/api/auth/sign-out`, toJson({}));
  },
};

export const authJsClient: SignInClient = {
  async signIn(url, name) {
    const jar = new CookieJar();
    const csrfToken = await readString(await jar.send(`${url}/api/auth/csrf`), "csrfToken");
    const body = new URLSearchParams({ csrfToken, username: name, password: PASSWORD });
    await jar.send(`${url}/api/auth/callback/credentials`, { method: "POST", body });
    if (!jar.header.includes("session-token")) throw new Error("Sign-in failed.");
    return { id: `id-of-${name}`, jar };
  },
  async signOut(url, { jar }) {
    const csrfToken = await readString(await jar.send(`${url}/api/auth/csrf`), "csrfToken");
    await jar.send(`${url}/api/auth/signout`, { method: "POST", body: new URLSearchParams({ csrfToken }) });
  },
};

export const expressSessionClient: SignInClient = {
  async signIn(url, name) {
    const jar = new CookieJar();
    await jar.send(`${url}/login?name=${name}`, { method: "POST" });
    return { id: `id-of-${name}`, jar };
  },
  async signOut(url, { jar }) {
    await jar.send(`${url}/logout`, { method: "POST" });
  },
};
