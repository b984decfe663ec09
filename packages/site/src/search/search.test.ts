import { beforeAll, expect, it } from "vitest";
import { addSections, createIndex, type Index, search } from "./search.ts";
import { readSections } from "./sections.ts";

/*
 * What people search for, and the page or section that must come first. If a page moves, change its address here. If another page
 * comes first, add the words to a question of docs/README.md that leads to the right one.
 */
const EXPECTED: readonly (readonly [query: string, first: string])[] = [
  // Money
  ["price without restart", "changing-prices"],
  ["price per token", "pricing"],
  ["csv export", "studio#usage"],
  ["monthly budget", "budgets"],
  ["alert budget", "budgets"],
  ["margin", "words#margin"],
  ["invoice customers stripe", "recipes/stripe"],
  ["retry charged twice", "idempotency-keys"],
  ["move to PostgreSQL", "move-to-postgresql"],
  ["delete old records", "postgres#pruning"],
  ["sqlite backup", "sqlite"],
  // Callers
  ["session", "signed-in-users#express-session"],
  ["signed in users pay", "your-users"],
  ["prepaid credits", "prepaid"],
  ["wallet", "prepaid"],
  ["payment", "prepaid"],
  ["top up", "prepaid"],
  ["rotate key", "keys"],
  ["rate limit per customer", "limits"],
  ["429", "troubleshooting#429-who-refused"],
  // Images and providers
  ["image links expire", "results"],
  ["multiple images", "several-images"],
  ["image size not supported", "sizes"],
  ["fallback provider", "channels#what-is-sent-again"],
  ["azure", "families/openai/azure"],
  ["minio", "s3#minio"],
  ["stream openai", "streaming"],
  // Building and operating
  ["install from clone", "install"],
  ["body parser", "adapters/express#body-parsers"],
  ["cors", "cors"],
  ["react hook", "react"],
  ["webhook signature", "webhooks#receive"],
  ["test without provider", "testing"],
  ["nginx timeout", "deployment#nginx"],
  ["kubernetes", "recipes/kubernetes"],
  ["prometheus metrics", "telemetry#metrics"],
  ["rollback", "versioning#records"],
];

let english: Index;
beforeAll(() => {
  english = createIndex();
  addSections(english, readSections("en"));
});

it.each(EXPECTED)("%s: %s comes first", (query, first) => {
  expect(search(english, query).map(({ id }) => id)[0]).toBe(first);
});

it("finds Chinese words, which have no spaces between them", () => {
  const chinese = createIndex();
  addSections(chinese, readSections("zh"));

  expect(search(chinese, "结果存储").map(({ id }) => id)[0]).toMatch(/^zh\//);
  expect(search(chinese, "预算")[0]?.excerpt).toContainEqual({ text: "预算", isMarked: true });
});

it("shows an excerpt with the words marked, a number as it is, and nothing for a word that is nowhere", () => {
  const [hit] = search(english, "webhook signature");

  expect(hit?.excerpt.some(({ text, isMarked }) => isMarked && /signature/i.test(text))).toBe(true);
  expect(hit?.excerpt.map(({ text }) => text).join("").length).toBeLessThan(200);
  expect(search(english, "409").map(({ id }) => id)).not.toContain("troubleshooting#429-who-refused");
  expect(search(english, "xyzzyplugh")).toEqual([]);
});
