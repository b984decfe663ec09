import { describe, expect, it } from "vitest";
import { createEmulator, type Emulator } from "./emulator.js";
import { askArk } from "./test-support/ask.js";

async function control(emulator: Emulator, method: string, path: string, body?: string) {
  const init = body === undefined ? { method } : { method, body };
  const response = await emulator.fetch(new Request(`http://emulator.test/_emulator/${path}`, init));
  const text = await response.text();
  return { status: response.status, allow: response.headers.get("allow"), text };
}

describe("control over HTTP", () => {
  it("adds, lists and removes faults", async () => {
    const emulator = createEmulator();
    const added = await control(emulator, "POST", "faults", '{"code":"QuotaExceeded","times":3}');
    expect(added).toMatchObject({ status: 201, text: '[{"code":"QuotaExceeded","times":3}]' });
    expect((await askArk(emulator)).body.error.code).toBe("QuotaExceeded");
    expect((await control(emulator, "GET", "faults")).text).toBe('[{"code":"QuotaExceeded","times":2}]');
    expect((await control(emulator, "DELETE", "faults")).status).toBe(204);
    expect((await askArk(emulator)).status).toBe(200);
  });

  it("takes faults of the body and the stream", async () => {
    const emulator = createEmulator();
    const fault =
      '{"stream":{"completedEvents":2},"body":{"chunkBytes":[7],"cutAfterBytes":{"min":40,"max":40}}}';
    expect(await control(emulator, "POST", "faults", fault)).toMatchObject({
      status: 201,
      text: `[${fault}]`,
    });
    await expect(askArk(emulator, { stream: true })).rejects.toThrow("terminated");
  });

  it("takes a list of faults, all or none of it", async () => {
    const emulator = createEmulator();
    const refused = await control(emulator, "POST", "faults", '[{"status":500},{"status":"500"}]');
    expect(refused.status).toBe(400);
    expect(emulator.faults.active).toEqual([]);
    await control(emulator, "POST", "faults", '[{"status":500},{"status":502}]');
    expect(emulator.faults.active).toHaveLength(2);
  });

  it.each([
    ["no JSON", "{", "as JSON"],
    ["nothing", "", "as JSON"],
    ["a number", "5", "must be an object"],
    ["an unknown field", '{"foo":1}', 'no field \\"foo\\"'],
    [
      "an unknown field of a group",
      '{"stream":{"cut":1}}',
      'stream\\" has no field \\"cut\\". Its fields: cutAfterEvents,',
    ],
    ["a wrong field of a group", '{"body":{"chunkBytes":[0]}}', 'body.chunkBytes\\" must be a list of'],
    ["too much", `"${"x".repeat(1024 * 1024)}"`, "at most 1 MiB"],
  ])("refuses %s with a clear 400", async (_name, body, message) => {
    const response = await control(createEmulator(), "POST", "faults", body);
    expect(response.status).toBe(400);
    expect(response.text).toContain(message);
  });

  it("lists and removes the requests, exactly as they were sent", async () => {
    const emulator = createEmulator({ now: () => 5000 });
    await askArk(emulator, { prompt: "狐狸", extra: [1, { a: null }] });
    const listed: unknown = JSON.parse((await control(emulator, "GET", "requests")).text);
    expect(listed).toEqual([
      {
        route: "ark",
        method: "POST",
        url: "http://emulator.test/api/v3/images/generations",
        headers: { authorization: "Bearer a-key", "content-type": "application/json" },
        body: { model: "doubao-seedream-4-5-251128", prompt: "狐狸", extra: [1, { a: null }] },
        bodyText: '{"model":"doubao-seedream-4-5-251128","prompt":"狐狸","extra":[1,{"a":null}]}',
        receivedAt: 5000,
      },
    ]);
    expect((await control(emulator, "DELETE", "requests")).status).toBe(204);
    expect(emulator.requests).toEqual([]);
  });

  it("lists deep and broken bodies", async () => {
    const emulator = createEmulator();
    const headers = { authorization: "Bearer k" };
    const url = "http://emulator.test/api/v3/images/generations";
    for (const body of ["[".repeat(20_000) + "]".repeat(20_000), "{ broken", ""]) {
      await emulator.fetch(new Request(url, { method: "POST", headers, body }));
    }
    const { text } = await control(emulator, "GET", "requests");
    expect(JSON.parse(text)).toHaveLength(3);
  });

  it("tells the paths and methods it knows", async () => {
    expect(await control(createEmulator(), "PUT", "faults")).toMatchObject({
      status: 405,
      allow: "GET, POST, DELETE",
    });
    const unknown = await control(createEmulator(), "GET", "nothing");
    expect(unknown.status).toBe(404);
    expect(unknown.text).toContain("POST /_emulator/faults");
  });
});
