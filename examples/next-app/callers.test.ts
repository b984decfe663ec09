import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { createCaller } from "./app/callers/create-caller.ts";
import { getGateway } from "./app/gateway.ts";

const OPERATOR_KEY = "operator-canary-2f80c6d1";

beforeAll(() => {
  vi.stubEnv("CALOTYPE_OPERATOR_KEY", OPERATOR_KEY);
  vi.stubEnv("CALOTYPE_API_KEY", "caller-canary-6b1e09d4");
  vi.stubEnv("ARK_API_KEY", "ark-canary-c04f7a39");
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await getGateway().close();
});

function toForm(fields: Readonly<Record<string, string>>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries({ operator: OPERATOR_KEY, ...fields })) form.set(name, value);
  return form;
}

it("the action of the page creates a caller for the operator only", async () => {
  const refused = await createCaller(toForm({ operator: "wrong", id: "web-shop" }));
  expect(refused.error).toMatch(/operator/);
  const { key } = await createCaller(toForm({ id: "web-shop", budget: "5" }));
  const response = await getGateway().fetch(
    new Request("http://localhost/v1/models", { headers: { authorization: `Bearer ${key}` } }),
  );
  expect(response.status).toBe(200);
  expect(await getGateway().callers.find("web-shop")).toMatchObject({
    budget: { amount: "5", period: "month" },
    state: "active",
  });
  expect((await createCaller(toForm({ id: "web-shop" }))).error).toContain("web-shop");
  expect((await createCaller(toForm({ id: "app", budget: "much" }))).error).toContain("budget");
});
