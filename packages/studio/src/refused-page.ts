import type { GatewayResponse } from "@calotype/core/adapter";
import type { Refusal } from "./access.js";
import { respond, respondWithError } from "./respond.js";

const LOCAL = "Without the option authorize, the studio responds to this machine only";

const REASONS: Readonly<Record<Refusal, string>> = {
  denied: "You may not open the studio: authorize returned neither viewer nor admin.",
  production: `${LOCAL}, and never with NODE_ENV=production: a proxy may send requests from elsewhere.`,
  "no-address": `${LOCAL}, and this host does not say where a request comes from.`,
  remote: `${LOCAL}, and the request came from another one.`,
  host: `${LOCAL}, at localhost or a loopback address such as 127.0.0.1. The request was for another host name.`,
  forwarded: `${LOCAL}, and the request came through a proxy.`,
};

const REASONS_ZH: Readonly<Record<Refusal, string>> = {
  denied: "你没有权限打开 studio：authorize 返回的既不是 viewer 也不是 admin。",
  production:
    "未设置 authorize 时，studio 只响应本机请求；NODE_ENV=production 时一律拒绝，因为代理可能转发来自其他机器的请求。",
  "no-address": "未设置 authorize 时，studio 只响应本机请求，而当前运行环境无法提供请求的来源地址。",
  remote: "未设置 authorize 时，studio 只响应本机请求，而该请求来自其他机器。",
  host: "未设置 authorize 时，studio 只能通过 localhost 或 127.0.0.1 等回环地址访问，而该请求使用了其他主机名。",
  forwarded: "未设置 authorize 时，studio 只响应本机请求，而该请求经过了代理。",
};

const FIX = "To open the studio from elsewhere, pass createStudio(gateway, { authorize }).";
const FIX_ZH = "如需从其他位置访问，请传入 createStudio(gateway, { authorize })。";

/** Refuses a request: with JSON for the API, and with a page without scripts for a person. */
export function refuse(refusal: Refusal, { isApi }: { readonly isApi: boolean }): GatewayResponse {
  if (isApi) return respondWithError(403, "studio_refused", REASONS[refusal]);
  const fixes = refusal === "denied" ? ["", ""] : [`<p>${FIX}</p>`, `<p>${FIX_ZH}</p>`];
  const html = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>calotype studio</title></head>
<body><main><h1>calotype studio</h1>
<p>${REASONS[refusal]}</p>${fixes[0]}
<div lang="zh-Hans"><p>${REASONS_ZH[refusal]}</p>${fixes[1]}</div></main></body>
</html>
`;
  return respond(403, html, { "content-type": "text/html; charset=utf-8" });
}
