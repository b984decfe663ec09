import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ROOT, readText } from "../support/workspace.js";
import { startExample } from "./start-example.js";

it("charges a user for the requests of docs/your-users.md, up to the budget", async () => {
  const folder = mkdtempSync(join(tmpdir(), "calotype-users-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const app = await startExample(join(ROOT, "examples/signed-in-users/server.ts"), {}, folder);
  onTestFinished(async () => void (await app.stop()));
  const headers = { origin: app.baseUrl, "content-type": "application/json", cookie: "" };
  const page = readText("docs/your-users.md");
  const shown = (await (await fetch(app.baseUrl)).text()).replaceAll(app.baseUrl, "http://localhost:8787");
  expect(page).toContain(shown.split("\n\n")[1]);
  const post = (path: string, shownFor = path): Promise<Response> => {
    const [, body = ""] = new RegExp(String.raw`${shownFor} (?:-i )?-d \\\s+'([^']*)'`).exec(page) ?? [];
    return fetch(app.baseUrl + path, { method: "POST", headers, body });
  };

  expect((await post("/ai/v1/images/generations")).status).toBe(401);
  const signedUp = await post("/api/auth/sign-up/email");
  headers.cookie = signedUp.headers.getSetCookie().join(";");
  const made = await post("/ai/v1/images/generations");
  expect(made.headers.get("x-calotype-charge")).toBe("0.75");
  expect(await made.json()).toMatchObject({ data: [{}, {}, {}] });
  expect(page).toContain(`\`${await (await fetch(`${app.baseUrl}/spent`, { headers })).text()}\``);
  expect((await post("/ai/v1/images/generations")).status).toBe(403);

  // The account stays. The page sends the same body to sign in.
  expect((await post("/api/auth/sign-in/email", "/api/auth/sign-up/email")).status).toBe(200);
  expect((await fetch(`${app.baseUrl}/spent`)).status).toBe(401);
});
