import { describe, expect, it } from "vitest";
import { createRouteMatcher, type PageRoute } from "./route.js";

const GENERATIONS = "/v1/images/generations";

/** The operation that a gateway with this base path finds in a host that mounted it here. */
function match(
  url: string,
  {
    basePath = "",
    mountPath,
    method = "POST",
    servesTasks = true,
    pages = ["healthz", "openapi", "reference"],
  }: {
    basePath?: string;
    mountPath?: string;
    method?: string;
    servesTasks?: boolean;
    pages?: PageRoute["operation"][];
  } = {},
): unknown {
  const route = createRouteMatcher(basePath, { servesTasks, pages })({ method, url, mountPath });
  if (typeof route !== "object") return route;
  if (route.operation === "tasks") return ["tasks", route.id, route.action].filter(Boolean).join(" ");
  if ("file" in route) return `${route.operation} ${route.file}`.trim();
  return route.operation === "models" && route.name !== undefined ? `model ${route.name}` : route.operation;
}

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
    expect(match(url)).toBeUndefined();
  });

  it.each([
    ["GET", GENERATIONS, "generate"],
    ["OPTIONS", "/v1/images/edits", "edit"],
    ["PUT", `${GENERATIONS}/`, "generate"],
    ["GET", `/shop${GENERATIONS}`, undefined],
    ["GET", "/shop/api/v3/images/generations", undefined],
  ])("finds for %s %s only the exact path: %s", (method, url, operation) => {
    expect(match(url, { method })).toBe(operation);
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
    { mountPath: "/ai", url: "/ai/deeper/v1/models/x", found: "model x" },
    { mountPath: "/x/v1", url: "/x/v1/models/a/b", found: "model a/b" },
    { mountPath: "/v1/models", url: "/v1/models/x", found: "model x" },
    { mountPath: "/", url: "/x/v1/models/x", found: "model x" },
    { mountPath: "/", url: "/v1/images/variations", found: "unserved" },
    { mountPath: "/", url: "/v1/chat/completions", found: undefined },
    { mountPath: "/ai", url: "/ai/health", found: undefined },
    // A wildcard route reports the whole path as its mount path.
    { mountPath: GENERATIONS, url: GENERATIONS, found: "generate" },
    { mountPath: "/v1/images/variations", url: "/v1/images/variations", found: undefined },
  ])("finds $found for POST $url mounted at $mountPath", ({ mountPath, url, found }) => {
    expect(match(url, { mountPath })).toBe(found);
  });

  it.each([
    ["/v1/models", "models"],
    ["/v1/models/", "models"],
    ["//v1//models//", "models"],
    ["http://localhost/v1/models?limit=1", "models"],
    ["/v1/models/image-max", "model image-max"],
    ["/v1/models/image-max/", "model image-max"],
    ["/v1/models/a/b", "model a/b"],
    ["/v1/models/a%2Fb%20%E5%9B%BE", "model a/b 图"],
    ["/v1/models/%E5%9B%zz", "model %E5%9B%zz"],
    ["/v1/models/v1/models", "model v1/models"],
    ["/v1/modelss", undefined],
    ["/shop/v1/models", undefined],
    ["/shop/v1/models/x", undefined],
    ["/V1/models", undefined],
  ])("finds without a mount path for GET and DELETE %s: %s", (url, found) => {
    expect(match(url, { method: "GET" })).toBe(found);
    expect(match(url, { method: "DELETE" })).toBe(found);
  });

  it.each([
    { url: "/v1/images/tasks", found: "tasks" },
    { url: "//v1/images//tasks//?limit=1", found: "tasks" },
    { url: "/v1/images/tasks/task_1", found: "tasks task_1" },
    { url: "/v1/images/tasks/task_1/", found: "tasks task_1" },
    { url: "/v1/images/tasks/a%2Fb?wait=1", found: "tasks a%2Fb" },
    { url: "/v1/images/tasks/task_1/events", found: "tasks task_1 events" },
    { url: "/v1/images/tasks/task_1/cancel", found: "tasks task_1 cancel" },
    { url: "/v1/images/tasks/cancel", found: "tasks cancel" },
    { url: "/v1/images/tasks/events/events", found: "tasks events events" },
    { url: "/v1/images/tasks/task_1/cancel/x", found: undefined },
    { url: "/v1/images/tasks/task_1/other", found: undefined },
    { url: "/v1/images/taskss", found: undefined },
    { url: "/v1/images/Tasks", found: undefined },
    { url: "/shop/v1/images/tasks", found: undefined },
    { url: "/shop/v1/images/tasks/task_1/cancel", found: undefined },
    { url: "/ai/v1/images/tasks/task_1", mountPath: "/ai", found: "tasks task_1" },
    { url: "/ai/x/v1/images/tasks/task_1/events", mountPath: "/ai", found: "tasks task_1 events" },
    { url: "/ai/v1/images/tasks/task_1/cancel", basePath: "/ai", found: "tasks task_1 cancel" },
    { url: "/v1/images/tasks", basePath: "/ai", found: undefined },
    { url: "/ai/v1/images/tasks/task_1/other", basePath: "/ai", found: "unserved" },
  ])(
    "finds with any method $found for $url, mounted at $mountPath, below $basePath",
    ({ url, found, ...host }) => {
      expect(match(url, { ...host, method: "GET" })).toBe(found);
      expect(match(url, { ...host, method: "POST" })).toBe(found);
      expect(match(url, { ...host, method: "DELETE" })).toBe(found);
    },
  );

  it.each([
    { url: "/v1/images/tasks", found: undefined },
    { url: "/v1/images/tasks/task_1/events", found: undefined },
    { url: "/v1/images/tasks", mountPath: "/", found: "unserved" },
    { url: "/ai/v1/images/tasks/task_1/cancel", basePath: "/ai", found: "unserved" },
  ])("finds without tasks $found for $url, mounted at $mountPath", ({ url, found, ...host }) => {
    expect(match(url, { ...host, servesTasks: false })).toBe(found);
  });

  it.each([
    { url: "/healthz", found: "healthz" },
    { url: "//healthz/?x=1", found: "healthz" },
    { url: "http://localhost/openapi.json", found: "openapi" },
    { url: "/reference", found: "reference" },
    { url: "//reference/?x=1", found: "reference" },
    { url: "/reference/page.js", found: "reference page.js" },
    { url: "/reference/..", found: undefined },
    { url: "/reference/a/page.js", found: undefined },
    { url: "/reference/%2e%2e", found: undefined },
    { url: "/shop/reference", found: undefined },
    { url: "/references", found: undefined },
    { url: "/shop/healthz", found: undefined },
    { url: "/health", found: undefined },
    { url: "/Healthz", found: undefined },
    { url: "/xhealthz", found: undefined },
    { url: "/openapi", found: undefined },
    { url: "/healthz/x", found: undefined },
    { url: "/v1/models/healthz", found: "model healthz" },
    { url: "/v1/models/openapi.json", found: "model openapi.json" },
    { url: "/v1/images/healthz", mountPath: "/", found: "unserved" },
    { url: "/shop/healthz", mountPath: "/", found: "healthz" },
    { url: "/ai/healthz", mountPath: "/ai", found: "healthz" },
    { url: "/ai/openapi.json", basePath: "/ai", found: "openapi" },
    { url: "/site/ai/healthz", basePath: "/ai", mountPath: "/site", found: "healthz" },
    { url: "/ai/reference/page.css", basePath: "/ai", found: "reference page.css" },
    // The operator may mount the gateway itself there.
    { url: "/reference/healthz", mountPath: "/reference", found: "healthz" },
    { url: "/reference", mountPath: "/", pages: ["openapi" as const], found: undefined },
    { url: "/healthz", basePath: "/ai", found: undefined },
    { url: "/healthz", basePath: "/ai", mountPath: "/", found: undefined },
    { url: "/healthz", mountPath: "/", pages: [], found: undefined },
    { url: "/healthz", mountPath: "/", pages: ["openapi" as const], found: undefined },
    { url: "/openapi.json", mountPath: "/", pages: ["healthz" as const], found: undefined },
  ])(
    "finds with any method $found for the page $url, mounted at $mountPath, below $basePath",
    ({ url, found, ...host }) => {
      expect(match(url, { ...host, method: "GET" })).toBe(found);
      expect(match(url, { ...host, method: "POST" })).toBe(found);
    },
  );

  it("finds an endpoint below a mount path with any method", () => {
    expect(match(`/ai${GENERATIONS}`, { mountPath: "/ai", method: "GET" })).toBe("generate");
  });

  it.each([
    { basePath: "/ai", mountPath: undefined, url: `/ai${GENERATIONS}`, found: "generate" },
    { basePath: "/ai", mountPath: undefined, url: "/ai/v1/images/variations", found: "unserved" },
    { basePath: "/ai", mountPath: undefined, url: GENERATIONS, found: undefined },
    { basePath: "/ai", mountPath: undefined, url: "/ai/v1/models/a/b", found: "model a/b" },
    { basePath: "/ai", mountPath: undefined, url: "/v1/models", found: undefined },
    { basePath: "/ai", mountPath: undefined, url: `/aix${GENERATIONS}`, found: undefined },
    { basePath: "/ai", mountPath: undefined, url: `/x/ai${GENERATIONS}`, found: undefined },
    { basePath: "/x/v1", mountPath: undefined, url: "/x/v1/images/edits", found: "edit" },
    { basePath: "/ai", mountPath: "/ai", url: `/ai${GENERATIONS}`, found: "generate" },
    { basePath: "/ai", mountPath: "/site/ai", url: `/site/ai${GENERATIONS}`, found: "generate" },
    { basePath: "/ai", mountPath: "/site", url: `/site/ai${GENERATIONS}`, found: "generate" },
    { basePath: "/ai", mountPath: "/site", url: `/site${GENERATIONS}`, found: undefined },
    { basePath: "/ai", mountPath: "/", url: `/ai${GENERATIONS}`, found: "generate" },
    { basePath: "/ai", mountPath: "/", url: GENERATIONS, found: undefined },
  ])("with base path $basePath mounted at $mountPath finds $found for $url", ({ url, found, ...host }) => {
    expect(
      match(url, { basePath: host.basePath, ...(host.mountPath && { mountPath: host.mountPath }) }),
    ).toBe(found);
  });
});
