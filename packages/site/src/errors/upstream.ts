import type { ErrorCode } from "@calotype/core";
import { type ErrorPages, MAYBE_MADE, NOT_SENT, REFUSED_UPSTREAM } from "./error-page.ts";

/** Errors of the providers. */
export const UPSTREAM_ERRORS = {
  upstream_authentication_failed: {
    means: "The providers of all channels that could be tried refused the operator's key or account.",
    when: [
      "A provider's key is wrong, expired or was deleted.",
      "The account at the provider has an unpaid bill, or has not activated the model.",
      "The key belongs to another region than the channel's `baseUrl`.",
      "The function that returns the key [has failed](../keys-that-expire.md#when-the-function-fails).",
    ],
    charged: REFUSED_UPSTREAM,
    client: "Do not repeat, and do not change your key: it was accepted. Tell the operator.",
    operator:
      "The log has the channel and the provider's code. `gateway.status()` shows the keys that are refused, and " +
      "[`gateway.probeChannel()`](../channels.md#test-a-channel) tests a channel.",
    message:
      "No channel of this model is accepted by its provider at the moment. The operator has been told.",
  },
  upstream_rejected: {
    means:
      "The provider refused the request. The status is the provider's own 4xx, and `code` is the provider's code if it sent one.",
    when: [
      "The provider's moderation refused the prompt or a reference image.",
      "The provider does not take a field or a value that the gateway forwarded.",
      "No channel's provider serves the model.",
    ],
    charged: REFUSED_UPSTREAM,
    client:
      "Read the message, which is the provider's. Change the prompt or the field. The same request is refused again.",
    operator:
      "The page of the [family](../families/README.md) lists the provider's codes. The record has `upstreamRequestId` for its support.",
    message: "The request failed because the input text may contain sensitive information.",
  },
  upstream_rate_limited: {
    means: "The provider's rate limit is reached on every channel that was tried.",
    when: [
      "The account sends more requests or images per minute than the provider allows.",
      "`code` is the provider's own code if it sent one, such as `AccountRateLimitExceeded`.",
    ],
    charged: REFUSED_UPSTREAM,
    client: "Wait for the seconds of `retry-after`, then repeat.",
    operator:
      "Add [channels or keys](../channels.md#several-keys), ask the provider for a higher limit, or set `limits` of the model below it.",
    message: "The provider's rate limit is reached.",
  },
  upstream_quota_exceeded: {
    means: "The quota of the account at the provider is used up.",
    when: [
      "A prepaid amount, a free quota or a daily limit of the account has ended, on every channel that was tried.",
    ],
    charged: REFUSED_UPSTREAM,
    client: "Do not repeat. Tell the operator.",
    operator: "Pay or raise the quota at the provider, or add a channel with another account.",
    message: "The provider account's quota is used up.",
  },
  upstream_error: {
    means: "The provider failed, or is overloaded.",
    when: [
      "The provider responded with a 5xx. `code` is the provider's code if it sent one.",
      "The provider is overloaded (503) on every channel that was tried. Then the header `x-should-retry` is absent.",
    ],
    charged: MAYBE_MADE,
    client:
      "With `x-should-retry: false`, check whether you need the image before you repeat: it may have been made. Otherwise repeat.",
    operator:
      "Watch the [rate of failures](../monitoring.md). The gateway repeats only what cannot have made an image, see " +
      "[what is sent again](../channels.md#what-is-sent-again).",
    message: "The provider failed.",
  },
  upstream_invalid_response: {
    means: "The provider's response was not complete or not usable.",
    when: [
      "The response broke off, is larger than `maxUpstreamResponseBytes`, or is not JSON.",
      "Its JSON holds more than 10,000 values or 64 levels, more than 1 MiB besides strings, or more than 4 MiB if the provider delivers only links.",
      "The deadline of `gateway.close()` passed while the provider was responding.",
    ],
    charged: MAYBE_MADE,
    client: "An image may have been made. Check this before you repeat.",
    operator:
      "Look for a proxy between the gateway and the provider. Raise `maxUpstreamResponseBytes` for many large images in base64.",
    message: "The provider's response broke off.",
  },
  upstream_unreachable: {
    means: "No channel could be reached.",
    when: [
      "The name of the provider's host does not resolve, the connection is refused, or TLS fails.",
      "The `baseUrl` of the channel is wrong, or a firewall blocks it.",
    ],
    charged: NOT_SENT,
    client: "Repeat later. Nothing was sent.",
    operator:
      "Check the network of the server and the channel's `baseUrl`. `cause` in the log has the reason.",
    message: "The provider cannot be reached.",
  },
  upstream_no_image: {
    means: "The provider reported success and sent no image.",
    when: [
      "The model wrote text instead of an image, or its filter removed the image without an error code.",
    ],
    charged:
      "What the provider reported: 0 images cost 0, but tokens are charged. See [what is charged when](../price-rules.md#what-is-charged-when).",
    client: "Change the prompt. The same request may fail again.",
    operator: "The page of the [family](../families/README.md) says when the provider does this.",
    message: "The provider responded without an image.",
  },
  image_not_marked: {
    means: "The images were made, and cannot be marked as made by AI. So they are not delivered.",
    when: [
      "The operator requires a mark (`marks.require`), and the images have C2PA manifests, are not PNG, JPEG or WebP, or are not valid.",
      "An image could not be stored or downloaded, so that only the provider's link is left.",
    ],
    charged: "The images are charged, because they were made.",
    client:
      "Do not repeat: the next images are of the same kind. If some images were delivered, the others are in `extra.errors`.",
    operator:
      "[`marks`](../mark-rules.md#images-without-a-mark) of the record says why each image has no mark. Use a model or an `output_format` " +
      "whose images can be marked, or turn `require` off.",
    message:
      "The image was made and cannot be marked as made by AI: it has a C2PA manifest, whose hash a mark would break. So it is not delivered.",
  },
  outcome_unknown: {
    means: "The task was sent to a provider, and the process that ran it ended before the outcome was known.",
    when: ["The process was killed, or its machine failed, while the provider was making the images."],
    charged:
      "The charge is 0 or the hold, as [`billing.onLost`](../holds.md#requests-with-an-unknown-outcome) says. The record is `unresolved`.",
    client: "An image may have been made. Check whether you still need it before you submit the task again.",
    operator:
      "Give processes time to [shut down](../shutdown.md). Compare unresolved records with the provider's bill.",
    message:
      "The server that ran this task ended before the provider responded. Images may have been made. The task is not sent again.",
  },
  upstream_timeout: {
    means: "The provider did not respond within the time limits of the channel.",
    when: ["No first byte arrived within `firstByteSeconds`, or the response stopped for `idleSeconds`."],
    charged: MAYBE_MADE,
    client: "An image may have been made. Check this before you repeat.",
    operator:
      "Raise the channel's [`timeouts`](../channels.md#timeouts) if the model takes longer, for example for many images.",
    message: "The provider did not respond in time.",
  },
} as const satisfies Partial<ErrorPages<ErrorCode>>;
