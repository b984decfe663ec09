import type { CallToolResult, McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { type CallerGateway, type CompleteResponse, type Json, parseResponse } from "./caller-gateway.js";
import { listImages, toDataUrl, toImageResult, toRefusal, toResult } from "./tool-result.js";

const common = {
  model: z.string().describe("The name of a model, as list_models returns it."),
  prompt: z.string().describe("What the image shows, or what to change."),
  n: z.int().min(1).optional().describe("The number of images. Default 1."),
  size: z.string().optional().describe("Such as 1024x1024 or 2K. list_models says what each model takes."),
  response_format: z
    .enum(["url", "b64_json"])
    .optional()
    .describe("url: links. b64_json: the images themselves. Default: what the model and this server prefer."),
  as_task: z
    .boolean()
    .optional()
    .describe("Return a task at once, and make the images in the background: then call get_task."),
  idempotency_key: z
    .string()
    .optional()
    .describe(
      "Any string that is new for each image that is wanted. A repeated call with the same key and arguments is made and charged only once.",
    ),
};

const taskId = z.string().min(1).describe("The id of a task, such as task_….");

const taskImage = z
  .strictObject({
    task_id: taskId,
    index: z.int().min(0).default(0).describe("Which image of the task, from 0."),
  })
  .describe("An image that a task has made.");

const image = z.union([z.string().describe("A link (https) or a data URL."), taskImage]);
type ImageArgument = z.infer<typeof image>;

const OTHERS = "Further fields of the request to this server, such as seed, are passed on.";

/** More than any model takes. Each image of a task is read before the request is checked. */
const MAX_IMAGES = 32;

const generation = z.looseObject(common);
const edit = z.looseObject({
  ...common,
  images: z
    .array(image)
    .min(1)
    .max(MAX_IMAGES)
    .describe("The images to edit or to combine. Paths of files are not images."),
  mask: image.optional().describe("The image that says what may change, for models that take one."),
});

/** The arguments of a call, with the reference images in the field `image` of the gateway. */
interface ImageCall extends Json {
  readonly as_task?: boolean | undefined;
  readonly idempotency_key?: string | undefined;
}

const MAKES_IMAGES = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: true,
};
const READS = { readOnlyHint: true, openWorldHint: false };

/** Adds `generate_image`, `edit_image`, `get_task` and `list_models`. */
export function addImageTools(server: McpServer, gateway: CallerGateway): void {
  server.registerTool(
    "generate_image",
    {
      title: "Generate an image",
      description: `Makes images from a prompt, and costs money. ${OTHERS}`,
      inputSchema: generation,
      annotations: MAKES_IMAGES,
    },
    (fields) => makeImages(gateway, "/v1/images/generations", fields),
  );
  server.registerTool(
    "edit_image",
    {
      title: "Edit an image",
      description: `Makes images from other images and a prompt, and costs money. ${OTHERS}`,
      inputSchema: edit,
      annotations: MAKES_IMAGES,
    },
    async ({ images, mask, ...fields }) => {
      const given = mask === undefined ? images : [...images, mask];
      const resolved: string[] = [];
      let bytesLeft = gateway.maxBodyBytes;
      // One after another, so that images of tasks take no more memory than a body may have.
      for (const one of given) {
        const found = await resolveImage(gateway, one);
        if (typeof found !== "string") return found;
        resolved.push(found);
        bytesLeft -= found.length;
        if (bytesLeft < 0) return toRefusal("The images are too large together: send fewer.", "images");
      }
      return makeImages(gateway, "/v1/images/edits", {
        ...fields,
        image: resolved.slice(0, images.length),
        mask: resolved[images.length],
      });
    },
  );
  server.registerTool(
    "get_task",
    {
      title: "Get a task",
      description:
        "Returns a task that generate_image or edit_image has begun with as_task, and its images once it has completed.",
      inputSchema: z.strictObject({
        task_id: taskId,
        wait_seconds: z
          .int()
          .min(0)
          .max(60)
          .default(30)
          .describe("How long to wait for the end of the task, in seconds."),
      }),
      annotations: READS,
    },
    async ({ task_id, wait_seconds }) => toImageResult(await readTask(gateway, task_id, wait_seconds)),
  );
  server.registerTool(
    "list_models",
    {
      title: "List the models",
      description:
        "Lists the models that this API key may use, with their sizes and the other things that they can do.",
      annotations: READS,
    },
    async () => toResult(await gateway.send({ method: "GET", path: "/v1/models" })),
  );
}

async function makeImages(
  gateway: CallerGateway,
  path: string,
  { as_task: asTask = false, idempotency_key: key, ...fields }: ImageCall,
): Promise<CallToolResult> {
  if (fields["stream"] !== undefined && fields["stream"] !== false) {
    return toRefusal("A tool has one result: leave stream out.", "stream");
  }
  if (asTask && !gateway.hasTasks)
    return toRefusal("This server has no tasks: leave as_task out.", "as_task");
  if (key !== undefined && !gateway.hasIdempotency) {
    return toRefusal(
      "This server does not recognize repeated calls: leave idempotency_key out.",
      "idempotency_key",
    );
  }
  const headers = {
    ...(asTask && { prefer: "respond-async" }),
    ...(key !== undefined && { "idempotency-key": key }),
  };
  return toImageResult(await gateway.send({ method: "POST", path, headers, fields }));
}

/** Only tasks of the caller itself are found. */
function readTask(gateway: CallerGateway, id: string, waitSeconds: number): Promise<CompleteResponse> {
  const path = `/v1/images/tasks/${encodeURIComponent(id)}?wait=${waitSeconds}`;
  return gateway.send({ method: "GET", path });
}

/** Returns a link or a data URL, which the gateway checks like those of every client; or the refusal of the call. */
async function resolveImage(gateway: CallerGateway, given: ImageArgument): Promise<string | CallToolResult> {
  if (typeof given === "string") return given;
  const response = await readTask(gateway, given.task_id, 0);
  if (response.status >= 400) return toResult(response);
  const task = parseResponse(response);
  const found = listImages(task)[given.index];
  if (found?.b64_json) return toDataUrl(found.b64_json);
  if (found?.url) return (await gateway.openStoredImage(found.url)) ?? found.url;
  return toRefusal(
    `The task has no image ${given.index}. Its status is ${String(task["status"])}.`,
    "images",
  );
}
