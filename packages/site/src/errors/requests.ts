import type { ErrorCode } from "@calotype/core";
import { type ErrorPages, NOT_SENT } from "./error-page.ts";

/** Errors that depend on the request or on the caller. */
export const REQUEST_ERRORS = {
  invalid_request_error: {
    means: "The request is not valid. The message says which field is wrong and what to send instead.",
    when: [
      "A field is missing, has the wrong type, or has a value that the model does not take. `param` is the path of the field.",
      "The model's capabilities do not include what was requested: the size, the number of images, reference images.",
      "The body is not a JSON object, is not UTF-8, has a key twice, or was cut on its way.",
      "A form has no boundary, too many parts, or a file that is not an image.",
      "The provider refused the request with a 400 and sent no code of its own.",
    ],
    charged: NOT_SENT,
    client: "Do not repeat the same request. Change the field that `param` names, as the message says.",
    operator:
      "If your clients always send sizes of OpenAI that a model does not have, set [`sizes`](../sizes.md) or a " +
      "[profile](../clients/README.md). If the model takes more than its row says, add [capabilities](../configuration.md#capabilities).",
    message:
      'size "1024x1024" is not supported by this model: send 2K, or 4K, or a size from 1280x720 to 4096x4096.',
    param: "size",
  },
  invalid_api_key: {
    means: "The request has no API key, or a key that this gateway does not accept.",
    when: [
      "There is no header `Authorization: Bearer …`, and no header `api-key`.",
      "No caller has this key. A common cause is a line break or a space that was copied with the key.",
      "The key has expired. The message says when.",
      "The caller was revoked, or the key was rotated and its overlap has ended.",
    ],
    charged: NOT_SENT,
    client:
      "Check the key and the base URL: a provider's key is not a key of the gateway. Do not repeat with the same key.",
    operator:
      "`calotype-key --hash` prints the hash of a key; compare it with `hash` in `callers`, or look the caller up with " +
      "[`calotype-key list`](../callers.md#with-the-command). While the ledger cannot be reached, keys of stored callers get a " +
      "503 `gateway_unavailable` and not this error.",
    message: "This API key expired at 2027-01-31T00:00:00.000Z.",
  },
  not_signed_in: {
    means: "The request has no API key, and nobody is signed in to the app.",
    when: [
      "The app finds the caller by its [signed-in user](../signed-in-users.md), and its function `caller` found nobody: there is no session, or it has ended.",
      "The browser did not send the cookie, for example because a page of another origin called `fetch` without `credentials`.",
      "A program forgot its API key, and sent headers as a page does.",
    ],
    charged: NOT_SENT,
    client: "Sign in, and send the request again. A program sends an API key in `Authorization: Bearer …`.",
    operator:
      "If the user is signed in elsewhere in the app, look at what `caller` returns: with `null` and `undefined`, nobody is. " +
      "Mount middleware that reads sessions before the gateway.",
    message:
      "Nobody is signed in: sign in, or send an API key in the header Authorization: Bearer <API_KEY>.",
  },
  model_not_allowed: {
    means: "The key is valid, but its caller may not use this model.",
    when: [
      "The model is not in the `models` of the caller, neither by its name nor by a series such as `image-*`.",
    ],
    charged: NOT_SENT,
    client: "Use another model. `GET /v1/models` lists the models of the key.",
    operator:
      "Add the model to the caller's `models`, or remove the field: without it a caller may use all models.",
    message: "This API key may not use the model image-max.",
    param: "model",
  },
  insufficient_quota: {
    means: "The highest possible charge of the request is more than what is left of the caller's budget.",
    when: [
      "The budget is used up, or what is left is too small for this request.",
      "Other requests of the caller are in progress, and their holds count until their charges are known.",
      "The request allows many images (`n`, `max_images`), and the hold is for all of them.",
    ],
    charged: NOT_SENT,
    client:
      "Request fewer or smaller images. A repeat helps only when other requests have ended or a new period has begun.",
    operator:
      "Raise [`budget`](../budgets.md). `gateway.usage` and the [studio](../studio.md) show what was spent and " +
      "what is held. [Alerts](../budgets.md#alerts) are sent before a budget ends.",
    message: "The budget does not cover what this request may cost.",
  },
  request_refused: {
    means: "Your own `beforeSend` refused the request, for example because of its prompt.",
    when: ['`beforeSend` threw `new GatewayError("request_refused", …)`. The message is the operator\'s.'],
    charged: "No. The hold was released, and nothing was sent. The request counts towards the rate limits.",
    client: "Read the message. The same request is refused again.",
    operator: "The refusal comes from your own code, see [hooks](../hooks.md#refuse-a-request-beforesend).",
    message: "This prompt is not allowed here.",
  },
  cross_site_request: {
    means:
      "A page of another site may have sent the request. Without an API key it is not taken for a request of the signed-in user.",
    when: [
      "A page of another site sent a form or a `fetch` to an app that finds callers by its [signed-in users](../signed-in-users.md#pages-of-other-sites).",
      "A page of another origin of yours, such as a subdomain, is not named in `cors.origins`.",
      "The browser sent no `Sec-Fetch-Site`, as on http, and a proxy changes the `Host` or ends TLS, so the app's own `Origin` looks different.",
      "A program sent a POST without an API key, and without the headers of a browser.",
      '[Tools for agents](../mcp.md): the header `Origin` is neither that of the gateway nor one that `cors.origins` names. `cors.origins: "*"` allows no page there.',
    ],
    charged: NOT_SENT,
    client:
      "Send the request from a page of the app itself. A program sends an API key in `Authorization: Bearer …`.",
    operator:
      "The message names what the browser sent. Name the origin of a page of yours in [`cors.origins`](../cors.md), and behind a proxy " +
      "set [`results.publicUrl`](../stored-images.md#the-address-in-the-links), and [`publicUrl` of `mcp()`](../mcp-tools.md#web-pages). Never name an origin whose pages are not yours.",
    message:
      "The request has no API key, and a page of another site may have sent it (Origin: https://evil.example, Sec-Fetch-Site: cross-site). " +
      "Send it from a page of this site, or with an API key in the header Authorization: Bearer <API_KEY>.",
  },
  model_not_priced: {
    means: "The gateway computes charges and has no price for this model, so it does not send the request.",
    when: [
      "`billing` is configured, the model was found through a series such as `image-*`, and `model_details` has no price for this name.",
    ],
    charged: NOT_SENT,
    client: "Use another model, or tell the operator.",
    operator:
      "Add the name or its series to [`model_details`](../pricing.md). With `jsonFile` and without `watch`, call `gateway.reload()` after the change.",
    message: "The model image-edit-max has no price here.",
  },
  group_not_priced: {
    means: "The gateway computes charges and has no ratio for the caller's price group.",
    when: ["`billing` is configured, and `group_ratio` does not have the `group` of the caller."],
    charged: NOT_SENT,
    client: "Tell the operator. No request of this key can succeed.",
    operator:
      "Add the group to [`group_ratio`](../pricing.md). A caller without `group` is in the group `default`.",
    message: "The group vip has no price ratio here.",
  },
  not_found: {
    means: "The path is not one of the gateway's.",
    when: [
      "The client's base URL is wrong: it must end in `/v1`, and begin with the mount path and `basePath` of the gateway.",
      "The endpoint exists only with an option that is not set, such as `healthz` or `openapi`.",
      "Tasks were requested, and the ledger keeps no tasks.",
    ],
    charged: NOT_SENT,
    client: "Compare the path with the paths that the message lists.",
    operator:
      "See [which paths are the gateway's](../adapters/express.md#paths). The option `basePath` does not repeat a mount path.",
    message:
      "/v1/chat/completions is not served. The gateway serves POST requests whose path ends in /v1/images/generations, …",
  },
  file_not_found: {
    means: "There is no stored image under this link.",
    when: [
      "The link was changed: a part is missing, or its signature does not fit.",
      "The secret for the signatures was replaced, and the old secret is no longer in the options.",
      "The image was deleted, because its time had ended or by somebody else.",
    ],
    charged: "No. Reading stored images is free.",
    client: "Use the link exactly as it was returned, with its query.",
    operator: "All processes need the same [secrets](../stored-images.md#secrets) and the same store.",
    message: "There is no image under this link. Use the link as it was returned.",
  },
  task_not_found: {
    means: "The caller of this key has no task with this id.",
    when: [
      "The id is wrong, or the task was submitted with the key of another caller.",
      "The task ended long ago and was deleted.",
      "The ledger in memory was lost with its process.",
    ],
    charged: "No. Reading tasks is free.",
    client: "Use the id as it was returned, with the key that submitted the task.",
    operator:
      "[Which ledgers have tasks](../tasks.md#which-ledgers-have-tasks), and how long they keep them.",
    message:
      "There is no task with this id. Send the id as it was returned, with the key that submitted the task.",
  },
  channel_not_found: {
    means:
      "A function for channels, such as `gateway.probeChannel()` or `pauseChannel()`, was called with an id that no channel has.",
    when: ["Your own code called it. The error is thrown there and is not sent to clients."],
    charged: NOT_SENT,
    client: "Clients do not see this error.",
    operator: "`gateway.status()` lists the channels with their ids.",
    message: "There is no channel with the id ark-2.",
  },
  caller_not_found: {
    means: "No caller with this id was created at run time.",
    when: [
      "`gateway.callers` or `calotype-key` was called with an unknown id.",
      "The id belongs to a caller of the options, which can be changed only there.",
    ],
    charged: NOT_SENT,
    client: "Clients do not see this error.",
    operator: "`calotype-key list` shows the [stored callers](../callers.md).",
    message: 'There is no caller with the id "trial" that was created at run time.',
  },
  model_not_found: {
    means: "The gateway has no service model with this name, or no channel that serves it.",
    when: [
      "The name is misspelt or has other capital letters: names are [case-sensitive](../configuration.md#case).",
      "A provider's model id was sent to `/v1`. There, clients send service models; ids of the provider work on `/api/v3` only.",
      "No channel has the model in its `modelMapping`.",
      "The providers of all channels responded that they do not know the model.",
    ],
    charged: NOT_SENT,
    client: "`GET /v1/models` lists the names.",
    operator: "Check `models` and each channel's [`modelMapping`](../channels.md#models-by-other-names).",
    message:
      "The model Seedream-4-5-251128 does not exist. Names are case-sensitive: send seedream-4-5-251128.",
    param: "model",
  },
  method_not_allowed: {
    means: "The endpoint does not take this method.",
    when: [
      "`GET` was sent to an endpoint that takes `POST`, or the reverse.",
      "A browser sent a preflight request (`OPTIONS`), and the option `cors` does not allow its origin.",
      "A redirect from http to https turned a `POST` into a `GET`.",
    ],
    charged: NOT_SENT,
    client: "Send the method that the header `allow` names.",
    operator: "For web pages of other origins set [`cors`](../cors.md).",
    message: "GET is not allowed here: send POST.",
  },
  request_timeout: {
    means: "The body of the request arrived too slowly, or stopped.",
    when: [
      "Fewer bytes per second arrived in 20 seconds than [`bodyLimits.minBytesPerSecond`](../limits.md#slow-bodies) requires.",
    ],
    charged: NOT_SENT,
    client: "Repeat. On a slow line, send links instead of files, or smaller images.",
    operator: "A proxy that buffers requests hides slow clients. The limits can be raised.",
    message: "The body arrived too slowly: fewer than 1024 bytes per second over 20 seconds. Send it again.",
  },
  caller_exists: {
    means: "A caller cannot be created, because its id is taken.",
    when: [
      "A caller of the options, a stored caller, or a revoked one has the id.",
      "The id begins with `user:`, as those of [signed-in users](../signed-in-users.md) do.",
    ],
    charged: NOT_SENT,
    client: "Clients do not see this error.",
    operator: "Choose another id. Ids of revoked callers stay taken, because records name them.",
    message: 'The id "trial" exists already or was revoked: choose another id.',
    param: "id",
  },
  caller_revoked: {
    means: "The caller was revoked, so it cannot be changed and gets no new key.",
    when: ["`gateway.callers` or `calotype-key` was called for a revoked caller."],
    charged: NOT_SENT,
    client: "Clients do not see this error.",
    operator: "Create another caller. [Revoking](../callers.md) cannot be undone.",
    message: 'The caller "trial" was revoked: create another one.',
  },
  idempotency_in_progress: {
    means: "The first request with this `Idempotency-Key` is still running.",
    when: ["A client repeated a request after its own timeout, while the images were being made."],
    charged: "Not for this repeat. The first request is charged as usual.",
    client:
      "Repeat with the same key after the seconds of `retry-after`. You then get the response of the first request.",
    operator: "Nothing. Clients with short timeouts cause it; recommend [tasks](../tasks.md) to them.",
    message: "The request with this Idempotency-Key is still running: try again in 10 s.",
  },
  idempotency_not_replayable: {
    means: "The first request with this `Idempotency-Key` has run, and its response is not stored.",
    when: [
      "The response was a stream, or larger than `idempotency.maxResponseBytes`.",
      "The process ended while the request ran, so its outcome is unknown.",
    ],
    charged: "Not for this repeat. The first request was charged, or its outcome is unknown.",
    client: "Send a new key only if you want to run the request again. It can be charged again.",
    operator:
      "Raise [`idempotency.maxResponseBytes`](../idempotency-keys.md), or return links instead of base64, which are small.",
    message:
      "The request with this Idempotency-Key has run, and its response is not stored (a stream, or too large). Its images were " +
      "charged, or its outcome is unknown. Send a new key to run it again; it can be charged again.",
  },
  task_not_cancellable: {
    means: "The task was sent to a provider, or has ended.",
    when: ["A client cancelled a task that is no longer in the queue."],
    charged: "The task is charged like any other request.",
    client: "Read the task: it gets its result.",
    operator: "Nothing. Images that are being made [cannot be cancelled](../tasks.md#cancel-a-task).",
    message: "The task was sent to the provider, so it can no longer be cancelled.",
  },
  file_expired: {
    means: "The link to a stored image has expired.",
    when: ["The time of `results.ttlSeconds`, 7 days by default, has passed since the image was stored."],
    charged: "No. Reading stored images is free.",
    client: "Request the image again, or copy images that you need for longer.",
    operator:
      "Set a longer [`results.ttlSeconds`](../stored-images.md#links-to-the-gateway). It applies to new images.",
    message: "This link has expired.",
  },
  request_too_large: {
    means: "The body is larger than the gateway accepts.",
    when: [
      "The body is larger than `bodyLimits` for JSON or forms, or a file is larger than its limit.",
      "The body alone is larger than `maxBytesInFlight`.",
      "With `Prefer: respond-async`, the body is larger than a task can keep without a store of results.",
    ],
    charged: NOT_SENT,
    client: "Send smaller images, or links to them.",
    operator:
      "Raise [`bodyLimits`](../limits.md#what-a-body-may-hold). A 413 that is not JSON comes from a proxy: " +
      "`client_max_body_size` of [nginx](../deployment.md#nginx), or the limit of a body parser.",
    message: "The body is larger than 67108864 bytes.",
  },
  unsupported_media_type: {
    means: "The endpoint does not take this type of body.",
    when: [
      "`Content-Type` is missing or is not `application/json`; for `/v1/images/edits` also `multipart/form-data`.",
      "The JSON has another charset than UTF-8, or the body has a `Content-Encoding`.",
    ],
    charged: NOT_SENT,
    client:
      "Set the header that the message names. With `fetch` and `FormData`, set no `Content-Type` yourself.",
    operator: "Nothing.",
    message: "This endpoint takes JSON in UTF-8: send the header Content-Type: application/json.",
  },
  range_not_satisfiable: {
    means: "The stored image has none of the bytes that the header `Range` names.",
    when: ["A download was continued at or after the end of the image."],
    charged: "No. Reading stored images is free.",
    client: "Read the length from `content-range`, or request the whole image.",
    operator: "Nothing.",
    message: "The image has only 63399 bytes.",
  },
  idempotency_conflict: {
    means: "Another request was sent with this `Idempotency-Key` before.",
    when: [
      "The body, the path or another part of the request differs from the first one.",
      "A request was submitted as a task, and is repeated without `Prefer: respond-async`, or the reverse.",
    ],
    charged: NOT_SENT,
    client: "Use a new key for a new request, and the same body for a repeat.",
    operator: "Nothing. [Idempotency keys](../idempotency-keys.md) says what is compared.",
    message:
      "Another request was sent with this Idempotency-Key: send a new key, or the same request as before.",
  },
  client_closed_request: {
    means:
      "The client disconnected before its request was sent to a provider. The client does not see this error.",
    when: [
      "The client's own timeout was shorter than the time in which the body arrived or the request waited.",
      "In a usage record: the rest of a response was given up after the client had left.",
      "In `extra.errors`: a call of a request with several calls that was not sent any more.",
    ],
    charged:
      "Without a usage record: no. With one: the images that had arrived, or that the provider reported.",
    client: "Set a timeout of several minutes, or use [tasks](../tasks.md).",
    operator:
      "Many of them point to a proxy or a client with a timeout of 30 to 60 seconds, see [deployment](../deployment.md#other-balancers).",
    message: "The client left.",
  },
  rate_limit_exceeded: {
    means: "A limit of this gateway is reached. The provider was not asked.",
    when: [
      "The caller has sent more requests or images in a minute than its `limits` allow.",
      "As many requests as `concurrent` allows are in progress.",
      "The model's own `limits` are reached. They apply to each caller with that model.",
      "The request has waited for `waitSeconds` without getting its turn, or too many requests wait.",
      "Too many requests of the caller wait for tasks.",
      "The tasks of the caller that have not ended have used up [its share](../tasks.md#the-share-of-a-caller) of the room.",
    ],
    charged: NOT_SENT,
    client:
      "Wait for the seconds of `retry-after`. With `x-should-retry: false` no repeat can succeed: the request asks for more images " +
      "than the limit of a minute.",
    operator:
      "Raise [`limits`](../limits.md) of the caller, the gateway or the model; the message names the limit. Or let requests " +
      "[wait](../limits.md#waiting-in-place-of-a-429) with `waitSeconds`.",
    message: "The limit of 10 requests per minute is reached: try again in 42 s.",
  },
} as const satisfies Partial<ErrorPages<ErrorCode>>;
