import { describe, expect, it } from "vitest";
import { qwenImage } from "../families/qwen-image/qwen-image.js";
import { HEALTH_PATH } from "../features/health/health-feature.js";
import { MODELS_PATH } from "../features/models-list/models-list-feature.js";
import { DESCRIPTION_PATH, REFERENCE_PATH } from "../features/openapi/openapi-feature.js";
import { TASKS_PATH } from "../features/tasks/tasks-endpoint.js";
import { createRouteMatcher, type GatewayRoute, listEndpoints } from "./route.js";

const GENERATIONS = "/v1/images/generations";
const PAGES = { healthz: HEALTH_PATH, openapi: DESCRIPTION_PATH, reference: REFERENCE_PATH };

interface Host {
  basePath?: string;
  mountPath?: string;
  method?: string;
  servesTasks?: boolean;
  pages?: string[];
}

/** The operation that a gateway with this base path finds in a host that mounted it here, or "nothing". */
function match(
  url: string,
  { basePath = "", mountPath, method = "POST", servesTasks = true, pages }: Host = {},
): unknown {
  const names = new Map<GatewayRoute, string>();
  const add = (name: string, pattern: RegExp): void =>
    void names.set({ pattern, respond: () => Promise.reject(new Error("It is not called.")) }, name);
  add("models", MODELS_PATH);
  if (servesTasks) add("tasks", TASKS_PATH);
  for (const [name, pattern] of Object.entries(PAGES)) if (pages?.includes(name) ?? true) add(name, pattern);
  const found = createRouteMatcher(basePath, listEndpoints([qwenImage]), [...names.keys()])({
    method,
    url,
    mountPath,
  });
  if (typeof found !== "object") return found ?? "nothing";
  if ("operation" in found) return found.operation;
  return [names.get(found.route), ...found.groups].filter(Boolean).join(" ");
}

interface Row extends Host {
  url: string;
  found: string;
}

/** Rows with a title that names only what the row has. */
const titled = (rows: readonly Row[]): { title: string; row: Row }[] =>
  rows.map((row) => {
    const { url, found, basePath, mountPath, pages } = row;
    const parts = [
      `finds ${found} for ${url}`,
      ...(basePath === undefined ? [] : [`with base path ${basePath}`]),
      ...(mountPath === undefined ? [] : [`mounted at ${mountPath}`]),
      ...(pages === undefined ? [] : [`with ${pages.join() || "none"} of the pages`]),
    ];
    return { title: parts.join(", "), row };
  });

describe("createRouteMatcher", () => {
  it.each([
    [GENERATIONS, "generate"],
    ["/v1/images/edits", "edit"],
    ["/api/v3/images/generations", "native"],
    [`${GENERATIONS}?api-version=1`, "generate"],
    [`${GENERATIONS}#x`, "generate"],
    [`${GENERATIONS}?x=/?#`, "generate"],
    [`http://localhost${GENERATIONS}`, "generate"],
    [`https://user@example.com:8443${GENERATIONS}?x`, "generate"],
    [`${GENERATIONS}/`, "generate"],
    [`/${GENERATIONS}`, "generate"],
    ["/v1//images///generations//", "generate"],
    [`/x/y${GENERATIONS}`, "generate"],
    ["/x/api/v3/images/generations", "native"],
    ["/api/v1/services/aigc/multimodal-generation/generation", "native"],
  ])("finds the operation of POST %s", (url, operation) => {
    expect(match(url)).toBe(operation);
  });

  it.each([
    "",
    "/",
    "*",
    "?",
    "/v1/images/generation",
    "/v1/images/generations/extra",
    "/v1/images/variations",
    "/v1/images",
    "/V1/images/generations",
    "/v1/images%2Fgenerations",
    "/xv1/images/generations",
    "/images/generations",
    "http://localhost",
    "http://localhost/",
    "http://localhost?x=/v1/images/generations",
    "http://localhost#/v1/images/generations",
    "/?/v1/images/generations",
  ])("leaves POST %j to the host", (url) => {
    expect(match(url)).toBe("nothing");
  });

  it.each([
    ["GET", GENERATIONS, "generate"],
    ["OPTIONS", "/v1/images/edits", "edit"],
    ["PUT", `${GENERATIONS}/`, "generate"],
  ])("finds for %s %s the operation %s", (method, url, operation) => {
    expect(match(url, { method })).toBe(operation);
  });

  it.each([
    ["GET", `/shop${GENERATIONS}`],
    ["GET", "/shop/api/v3/images/generations"],
  ])("leaves %s %s to the host, because the path is not exact", (method, url) => {
    expect(match(url, { method })).toBe("nothing");
  });

  it.each([
    // Everything below the mount path belongs to the gateway.
    { mountPath: "/ai", url: `/ai${GENERATIONS}`, found: "generate" },
    { mountPath: "/ai/", url: `/ai${GENERATIONS}`, found: "generate" },
    { mountPath: "/ai", url: `/ai/deeper${GENERATIONS}`, found: "generate" },
    { mountPath: "/x/v1", url: "/x/v1/images/generations", found: "generate" },
    { mountPath: "/v1/images", url: GENERATIONS, found: "generate" },
    { mountPath: "/api", url: "/api/v3/images/generations", found: "native" },
    { mountPath: "/ai", url: "/ai/v1/images/variations", found: "unserved" },
    { mountPath: "/ai", url: "/ai/v1/images", found: "unserved" },
    { mountPath: "/ai", url: "/ai/v1/models", found: "models" },
    { mountPath: "/ai", url: "/ai/deeper/v1/models/x", found: "models x" },
    { mountPath: "/x/v1", url: "/x/v1/models/a/b", found: "models a/b" },
    { mountPath: "/v1/models", url: "/v1/models/x", found: "models x" },
    { mountPath: "/", url: "/x/v1/models/x", found: "models x" },
    { mountPath: "/", url: "/v1/images/variations", found: "unserved" },
    { mountPath: "/", url: "/v1/chat/completions", found: "nothing" },
    { mountPath: "/ai", url: "/ai/health", found: "nothing" },
    // A wildcard route reports the whole path as its mount path.
    { mountPath: GENERATIONS, url: GENERATIONS, found: "generate" },
    { mountPath: "/v1/images/variations", url: "/v1/images/variations", found: "nothing" },
  ])("finds $found for POST $url mounted at $mountPath", ({ mountPath, url, found }) => {
    expect(match(url, { mountPath })).toBe(found);
  });

  it.each([
    ["/v1/models", "models"],
    ["/v1/models/", "models"],
    ["http://localhost/v1/models?limit=1", "models"],
    ["/v1/models/image-max", "models image-max"],
    ["/v1/models/a/b", "models a/b"],
    ["/v1/models/a%2Fb%20%E5%9B%BE", "models a%2Fb%20%E5%9B%BE"],
    ["/v1/models/%E5%9B%zz", "models %E5%9B%zz"],
    ["/v1/models/v1/models", "models v1/models"],
    ["/v1/modelss", "nothing"],
    ["/shop/v1/models", "nothing"],
  ])("finds without a mount path for GET and DELETE %s: %s", (url, found) => {
    expect(match(url, { method: "GET" })).toBe(found);
    expect(match(url, { method: "DELETE" })).toBe(found);
  });

  it.each(
    titled([
      { url: "/v1/images/tasks", found: "tasks" },
      { url: "//v1/images//tasks//?limit=1", found: "tasks" },
      { url: "/v1/images/tasks/task_1", found: "tasks task_1" },
      { url: "/v1/images/tasks/a%2Fb?wait=1", found: "tasks a%2Fb" },
      { url: "/v1/images/tasks/task_1/events", found: "tasks task_1 events" },
      { url: "/v1/images/tasks/task_1/cancel", found: "tasks task_1 cancel" },
      { url: "/v1/images/tasks/cancel", found: "tasks cancel" },
      { url: "/v1/images/tasks/events/events", found: "tasks events events" },
      { url: "/v1/images/tasks/task_1/cancel/x", found: "nothing" },
      { url: "/v1/images/tasks/task_1/other", found: "nothing" },
      { url: "/v1/images/taskss", found: "nothing" },
      { url: "/shop/v1/images/tasks", found: "nothing" },
      { url: "/ai/v1/images/tasks/task_1", mountPath: "/ai", found: "tasks task_1" },
      { url: "/ai/x/v1/images/tasks/task_1/events", mountPath: "/ai", found: "tasks task_1 events" },
      { url: "/ai/v1/images/tasks/task_1/cancel", basePath: "/ai", found: "tasks task_1 cancel" },
      { url: "/v1/images/tasks", basePath: "/ai", found: "nothing" },
      { url: "/ai/v1/images/tasks/task_1/other", basePath: "/ai", found: "unserved" },
    ]),
  )("$title, with any method", ({ row: { url, found, ...host } }) => {
    expect(match(url, { ...host, method: "GET" })).toBe(found);
    expect(match(url, { ...host, method: "POST" })).toBe(found);
    expect(match(url, { ...host, method: "DELETE" })).toBe(found);
  });

  it.each(
    titled([
      { url: "/v1/images/tasks", found: "nothing" },
      { url: "/v1/images/tasks/task_1/events", found: "nothing" },
      { url: "/v1/images/tasks", mountPath: "/", found: "unserved" },
      { url: "/ai/v1/images/tasks/task_1/cancel", basePath: "/ai", found: "unserved" },
    ]),
  )("without tasks $title", ({ row: { url, found, ...host } }) => {
    expect(match(url, { ...host, servesTasks: false })).toBe(found);
  });

  it.each(
    titled([
      { url: "/healthz", found: "healthz" },
      { url: "//healthz/?x=1", found: "healthz" },
      { url: "http://localhost/openapi.json", found: "openapi" },
      { url: "/reference", found: "reference" },
      { url: "//reference/?x=1", found: "reference" },
      { url: "/reference/page.js", found: "reference page.js" },
      { url: "/reference/..", found: "nothing" },
      { url: "/reference/a/page.js", found: "nothing" },
      { url: "/reference/%2e%2e", found: "nothing" },
      { url: "/shop/reference", found: "nothing" },
      { url: "/shop/healthz", found: "nothing" },
      { url: "/health", found: "nothing" },
      { url: "/healthz/x", found: "nothing" },
      { url: "/v1/models/healthz", found: "models healthz" },
      { url: "/v1/models/openapi.json", found: "models openapi.json" },
      { url: "/v1/images/healthz", mountPath: "/", found: "unserved" },
      { url: "/shop/healthz", mountPath: "/", found: "healthz" },
      { url: "/ai/healthz", mountPath: "/ai", found: "healthz" },
      { url: "/ai/openapi.json", basePath: "/ai", found: "openapi" },
      { url: "/site/ai/healthz", basePath: "/ai", mountPath: "/site", found: "healthz" },
      { url: "/ai/reference/page.css", basePath: "/ai", found: "reference page.css" },
      // The operator may mount the gateway itself there.
      { url: "/reference/healthz", mountPath: "/reference", found: "healthz" },
      { url: "/reference", mountPath: "/", pages: ["openapi"], found: "nothing" },
      { url: "/healthz", basePath: "/ai", found: "nothing" },
      { url: "/healthz", basePath: "/ai", mountPath: "/", found: "nothing" },
      { url: "/healthz", mountPath: "/", pages: [], found: "nothing" },
      { url: "/healthz", mountPath: "/", pages: ["openapi"], found: "nothing" },
      { url: "/openapi.json", mountPath: "/", pages: ["healthz"], found: "nothing" },
    ]),
  )("for pages with any method $title", ({ row: { url, found, ...host } }) => {
    expect(match(url, { ...host, method: "GET" })).toBe(found);
    expect(match(url, { ...host, method: "POST" })).toBe(found);
  });

  it("finds an endpoint below a mount path with any method", () => {
    expect(match(`/ai${GENERATIONS}`, { mountPath: "/ai", method: "GET" })).toBe("generate");
  });

  it.each(
    titled([
      { basePath: "/ai", url: `/ai${GENERATIONS}`, found: "generate" },
      { basePath: "/ai", url: "/ai/v1/images/variations", found: "unserved" },
      { basePath: "/ai", url: GENERATIONS, found: "nothing" },
      { basePath: "/ai", url: "/ai/v1/models/a/b", found: "models a/b" },
      { basePath: "/ai", url: "/v1/models", found: "nothing" },
      { basePath: "/ai", url: `/aix${GENERATIONS}`, found: "nothing" },
      { basePath: "/ai", url: `/x/ai${GENERATIONS}`, found: "nothing" },
      { basePath: "/x/v1", url: "/x/v1/images/edits", found: "edit" },
      { basePath: "/ai", mountPath: "/ai", url: `/ai${GENERATIONS}`, found: "generate" },
      { basePath: "/ai", mountPath: "/site/ai", url: `/site/ai${GENERATIONS}`, found: "generate" },
      { basePath: "/ai", mountPath: "/site", url: `/site/ai${GENERATIONS}`, found: "generate" },
      { basePath: "/ai", mountPath: "/site", url: `/site${GENERATIONS}`, found: "nothing" },
      { basePath: "/ai", mountPath: "/", url: `/ai${GENERATIONS}`, found: "generate" },
      { basePath: "/ai", mountPath: "/", url: GENERATIONS, found: "nothing" },
    ]),
  )("$title", ({ row: { url, found, ...host } }) => {
    expect(match(url, host)).toBe(found);
  });
});
