import type { GatewayResponse } from "@calotype/core/adapter";
import type { LocalRefusal } from "./local-request.js";
import { respond, respondWithError } from "./respond.js";

/** Why a request is refused: `denied` by `authorize`, it may have come from another machine, or it belongs to no session. */
export type Refusal = LocalRefusal | "denied" | "no-session";

const LOCAL = "Without the option authorize, the studio responds to this machine only";

const REASONS: Readonly<Record<Refusal, string>> = {
  denied: "You may not open the studio: authorize returned neither viewer nor admin.",
  production: `${LOCAL}, and never with NODE_ENV=production: a proxy may send requests from elsewhere.`,
  "no-address": `${LOCAL}, and this host does not say where a request comes from.`,
  remote: `${LOCAL}, and the request came from another one.`,
  host: `${LOCAL}, at localhost or a loopback address such as 127.0.0.1. The request was for another host name.`,
  "http-1.0": `${LOCAL}, and the request has HTTP/1.0, which proxies such as nginx send and browsers do not.`,
  forwarded: `${LOCAL}, and the request came through a proxy.`,
  "no-session":
    "Open the link that the app prints in its terminal. It works once, within ten minutes. After that, or after a restart of the app, load this page again: the terminal then shows a new link.",
};

const REASONS_ZH: Readonly<Record<Refusal, string>> = {
  denied: "你没有权限打开 studio：authorize 返回的既不是 viewer 也不是 admin。",
  production:
    "未设置 authorize 时，studio 只响应本机请求；NODE_ENV=production 时一律拒绝，因为代理可能转发来自其他机器的请求。",
  "no-address": "未设置 authorize 时，studio 只响应本机请求，而当前运行环境无法提供请求的来源地址。",
  remote: "未设置 authorize 时，studio 只响应本机请求，而该请求来自其他机器。",
  host: "未设置 authorize 时，studio 只能通过 localhost 或 127.0.0.1 等回环地址访问，而该请求使用了其他主机名。",
  "http-1.0":
    "未设置 authorize 时，studio 只响应本机请求，而该请求使用 HTTP/1.0：nginx 等代理会这样发送，浏览器不会。",
  forwarded: "未设置 authorize 时，studio 只响应本机请求，而该请求经过了代理。",
  "no-session":
    "请打开应用在终端中显示的链接。链接在十分钟内有效，且只能使用一次。链接失效或应用重启后，请重新加载本页，终端会显示新的链接。",
};

const FIX = "To open the studio from elsewhere, pass createStudio(gateway, { authorize }).";
const FIX_ZH = "如需从其他位置访问，请传入 createStudio(gateway, { authorize })。";

/** The link to itself is for browsers that send no cookie to a page which another site or program has opened. */
const AGAIN = "Open the studio again";
const AGAIN_ZH = "重新打开 studio";

/** What was refused. */
export interface Refused {
  readonly isApi: boolean;
  /** The path of the studio, such as `/studio`. */
  readonly path: string;
}

/** Refuses a request: with JSON for the API, and with a page without scripts for a person. */
export function refuse(refusal: Refusal, { isApi, path }: Refused): GatewayResponse {
  const needsSession = refusal === "no-session";
  if (isApi) {
    return respondWithError(403, needsSession ? "studio_session" : "studio_refused", REASONS[refusal]);
  }
  const toLink = (title: string): string => `<p><a href="${path}">${title}</a></p>`;
  const fixes = needsSession ? [toLink(AGAIN), toLink(AGAIN_ZH)] : [`<p>${FIX}</p>`, `<p>${FIX_ZH}</p>`];
  const [fix, fixZh] = refusal === "denied" ? ["", ""] : fixes;
  const html = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>calotype studio</title></head>
<body><main><h1>calotype studio</h1>
<p>${REASONS[refusal]}</p>${fix}
<div lang="zh-Hans"><p>${REASONS_ZH[refusal]}</p>${fixZh}</div></main></body>
</html>
`;
  return respond(403, html, { "content-type": "text/html; charset=utf-8" });
}
