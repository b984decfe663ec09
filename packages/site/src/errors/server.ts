import type { ErrorCode } from "@calotype/core";
import { type ErrorPages, NOT_SENT } from "./error-page.ts";

/** Errors of the gateway, its stores and its tasks. */
export const SERVER_ERRORS = {
  internal_error: {
    means: "The gateway failed, or one of your own functions did.",
    when: [
      "`authenticate` or `beforeSend` threw something other than a `GatewayError`.",
      "A family of your own threw while it read a response.",
      "The gateway has a defect.",
    ],
    charged:
      "Usually not: if `authenticate` or `beforeSend` failed, nothing was sent. If the request had been sent, there is a usage record, and its charge counts.",
    client: "Repeat later, and give the operator the `x-request-id`.",
    operator: "The log has the line with this request id and the `cause`.",
    message: "The gateway failed.",
  },
  body_already_read: {
    means: "A body parser of the app read the body before the gateway.",
    when: [
      "`multer` or another parser for forms ran before the gateway.",
      "A handler read the stream, or called `request.json()`, and passed the request on.",
      "In NestJS, the body parser is on for the gateway's path.",
    ],
    charged: NOT_SENT,
    client: "Do not repeat. Tell the operator.",
    operator: "Mount the gateway [before body parsers](../adapters/express.md#body-parsers).",
    message:
      "A body parser of this server read the request's body before the image gateway. The operator must mount the gateway before the body parser.",
  },
  task_input_lost: {
    means: "The request of the task was no longer in the store of results when the task was to run.",
    when: ["A lifecycle rule of the bucket, or somebody, deleted the object before its time."],
    charged: "No. Nothing was sent, and the hold was released.",
    client: "Submit the task again.",
    operator:
      "The store must keep what it stores until it expires, see the [lifecycle rule](../s3.md#lifecycle-rule).",
    message: "The request of the task is no longer in the store of results.",
  },
  task_result_lost: {
    means: "The images of the task were made and charged, and their response could not be kept.",
    when: [
      "The store of results failed when the task ended.",
      "As a response: the store of results no longer has the result of a task that had succeeded.",
    ],
    charged: "Yes. The images were made.",
    client: "Submit the task again only if you accept a second charge.",
    operator: "The log has the failure of the store. Look at its disk, its rights and its lifecycle rule.",
    message: "The result of this task is no longer in the store of results.",
  },
  no_totals: {
    means: "The ledger keeps no totals over time.",
    when: [
      "`gateway.usage.series`, `page` or `find` was called, or the page *Usage* of the studio was opened, with a ledger of your own that has no `history`.",
      "The ledger is the one in memory, on Workers.",
    ],
    charged: NOT_SENT,
    client: "Clients do not see this error.",
    operator: "Use a ledger of this project, or [implement `history`](../usage-reports.md#usage-over-time).",
    message: "The ledger of this gateway keeps no totals.",
  },
  model_paused: {
    means: "The operator has paused all channels that serve the model.",
    when: [
      "`gateway.pauseChannel()` was called, or the button of the studio was used, for each channel of the model.",
      "A pause is shared through the admission store: it holds on every process, also after a reload.",
    ],
    charged: NOT_SENT,
    client: "Repeat later, or use another model.",
    operator:
      "`gateway.status().channels` says who paused them, and until when. [`gateway.resumeChannel()`](../channels.md#pause-a-channel) ends a pause.",
    message:
      "The operator of this server has paused the model seedream-4-5-251128. Nothing was sent or charged: try again later.",
    param: "model",
  },
  task_expired: {
    means: "The task waited in the queue until its `expires_at`, and was not sent.",
    when: [
      "No process runs tasks: `tasks.concurrency` is 0 and nothing calls `gateway.runTasks()`.",
      "More tasks are submitted than the processes or the channels can run.",
    ],
    charged: "No. The hold was released.",
    client: "Submit it again.",
    operator: "Run more processes or add channels, see [who runs the tasks](../tasks.md#who-runs-the-tasks).",
    message: "The task waited too long and was not sent. Nothing was charged.",
  },
  task_queue_full: {
    means: "The task store has no room for another task that has not ended.",
    when: [
      "As many tasks of all callers wait or run as `tasks.maxOpen` and `tasks.maxOpenBytes` allow, and the caller has none of them.",
    ],
    charged: NOT_SENT,
    client: "Repeat after the seconds of `retry-after`.",
    operator:
      "Run more processes, raise [`tasks.maxOpen`](../configuration.md), or use " +
      "[a ledger with a larger task store](../tasks.md#which-ledgers-have-tasks).",
    message: "This server has no room for more tasks: try again later.",
  },
  overloaded: {
    means: "This process has no room for the request.",
    when: [
      "The bytes of all requests in progress reach [`maxBytesInFlight`](../limits.md#bytes-in-flight).",
      "The disk for the files of forms is full.",
      "Too many clients of this process wait for tasks.",
    ],
    charged: NOT_SENT,
    client: "Repeat after the seconds of `retry-after`.",
    operator:
      "Add processes, raise `maxBytesInFlight` if the machine has memory, and prefer links to base64.",
    message: "This server has no room for more bytes of requests: try again soon.",
  },
  gateway_unavailable: {
    means: "A store that the gateway needs cannot be reached, or options are not loaded yet.",
    when: [
      "The ledger, its tasks, the admission store or the store of results does not respond.",
      "`callers`, `models`, `channels` or the prices are functions, and their first load failed.",
    ],
    charged: NOT_SENT,
    client: "Repeat after the seconds of `retry-after`.",
    operator:
      "The log says which part failed; [`/healthz`](../monitoring.md#healthz) shows it. For Redis, [`whenAway`](../redis.md#when-redis-is-away) " +
      "decides whether requests pass without it.",
    message:
      "This server cannot reach its billing ledger at the moment: try again. Nothing was sent or charged.",
  },
  gateway_closed: {
    means: "The process is shutting down and takes no new requests.",
    when: ["A request arrived on a kept-alive connection after `gateway.close()` was called."],
    charged: NOT_SENT,
    client: "Repeat. Another process serves the request.",
    operator:
      "Normal during an update. If clients see it often, let the load balancer [drain first](../shutdown.md#a-fleet).",
    message: "This server is shutting down.",
  },
} as const satisfies Partial<ErrorPages<ErrorCode>>;
