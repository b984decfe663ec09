import type { ReadResponse } from "../../support/http-client.js";
import type { Client, Connection, EditCall, ImageCall, Images } from "./client.js";
import { ClientError, decodeBase64 } from "./client.js";
import { type Body, openaiPython, type Part, sendOnWire } from "./http-libraries.js";
import { openItems, readItems, readNames, throwIfRefused } from "./read-response.js";

/** Sends a request of openai-python, byte for byte. */
export function sendAsOpenaiPython({ url, apiKey }: Connection, path: string, body?: Body) {
  const { host } = new URL(url);
  return sendOnWire(url, openaiPython({ host }, { path, apiKey, ...(body && { body }) }));
}

/** The body of `images.generate`: the fields in the order of the package, without those that were not given. */
export const generateBody = (fields: Readonly<Record<string, unknown>>): Body => ({ json: inOrder(fields) });

/** The form of `images.edit`. A list of images is sent as `image[]`, one image as `image`. */
export function editBody(fields: Readonly<Record<string, unknown>>, images: readonly Uint8Array[]): Body {
  const name = images.length === 1 ? "image" : "image[]";
  return {
    form: [
      ...Object.entries(inOrder(fields)).map(
        ([field, value]): Part => ({ name: field, value: String(value) }),
      ),
      ...images.map((value, index): Part => ({ name, value, filename: `${index}.png`, type: "image/png" })),
    ],
  };
}

const ORDER = ["prompt", "background", "model", "moderation", "n", "output_compression", "output_format"];
const ORDER_AFTER = ["quality", "response_format", "size", "stream", "user"];

function inOrder(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const names = [...ORDER, ...ORDER_AFTER].filter((name) => fields[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, fields[name]]));
}

async function generate(connection: Connection, call: ImageCall): Images {
  const body = generateBody({ ...call, model: connection.model });
  return openItems(
    connection,
    readItems(await sendAsOpenaiPython(connection, "/v1/images/generations", body)),
  );
}

async function edit(connection: Connection, { images, ...call }: EditCall): Images {
  const body = editBody({ ...call, model: connection.model }, images);
  return openItems(connection, readItems(await sendAsOpenaiPython(connection, "/v1/images/edits", body)));
}

async function stream(connection: Connection, call: ImageCall): Images {
  const body = generateBody({ ...call, model: connection.model, stream: true });
  return readEvents(await sendAsOpenaiPython(connection, "/v1/images/generations", body));
}

async function streamEdit(connection: Connection, { images, ...call }: EditCall): Images {
  const body = editBody({ ...call, model: connection.model, stream: true }, images);
  return readEvents(await sendAsOpenaiPython(connection, "/v1/images/edits", body));
}

/**
 * The reader of the package: a blank line ends an event, `[DONE]` ends the stream, an event `error` and data with `error`
 * raise an error.
 */
function readEvents(response: ReadResponse): readonly Uint8Array[] {
  throwIfRefused(response);
  const images: Uint8Array[] = [];
  for (const event of response.text.split("\n\n")) {
    const data = /^data: (.*)$/m.exec(event)?.[1];
    if (data === undefined) continue;
    if (data.startsWith("[DONE]")) break;
    const { type, b64_json, error }: PythonEvent = JSON.parse(data);
    if (error || /^event: error$/m.test(event)) throw new ClientError(error?.message ?? "An error occurred");
    if (type?.endsWith(".completed") && b64_json) images.push(decodeBase64(b64_json));
  }
  return images;
}

interface PythonEvent {
  readonly type?: string;
  readonly b64_json?: string;
  readonly error?: { readonly message?: string };
}

async function listModels(connection: Connection): Promise<readonly string[]> {
  return readNames(await sendAsOpenaiPython(connection, "/v1/models"));
}

/** The official package for Python. */
export const OPENAI_PYTHON: Client = {
  name: "openai-python",
  profile: "openai",
  source: "openai 3.22.1 (PyPI), recorded",
  path: "/v1",
  sizes: ["256x256", "512x512", "1024x1024", "1536x1024", "1024x1536", "1792x1024", "1024x1792"],
  generate,
  edit,
  stream,
  streamEdit,
  listModels,
};
