import sharp from "sharp";
import { drawPng } from "../support/images.js";
import { type Client, type Connection, type Images, MODEL_KEYS, type ModelKey } from "./client.js";
import type { ServedModels } from "./serve-models.js";

/** What a client got from one call. */
export type Got =
  | { readonly sizes: readonly string[] }
  | { readonly names: readonly string[] }
  /** The last status of the gateway, and the error of the client. */
  | { readonly status: number; readonly error: string };

/** One thing that a user does with a client. */
export interface ClientScenario {
  readonly title: string;
  /** The column of the overview that counts it. */
  readonly column: Column;
  readonly perform: (connection: Connection) => Promise<Got>;
  /** Whether the user has what was asked for. */
  readonly isDone: (got: Got) => boolean;
}

export const COLUMNS = [
  "Generate",
  "Several at once",
  "Sizes",
  "Edit",
  "Several references",
  "Stream",
  "List models",
  "Reason of an error",
] as const;
export type Column = (typeof COLUMNS)[number];

/** A scenario of a client with one model, with the client's profile and without. */
export interface Result {
  readonly client: Client;
  readonly scenario: ClientScenario;
  readonly model: ModelKey;
  readonly hasProfile: boolean;
  readonly got: Got;
}

const PROMPT = "2 images of a paper kite, one red and one blue";

/** The scenarios of a client, without the operations that it does not have. */
export function scenariosOf({
  sizes,
  generate,
  edit,
  stream,
  streamEdit,
  listModels,
}: Client): readonly ClientScenario[] {
  const editImages = (count: number) => async (connection: Connection) =>
    edit?.(connection, { prompt: PROMPT, images: await Promise.all(COLOURS.slice(0, count).map(drawPng)) }) ??
    [];
  return [
    make("Generate", "Generate", 1, (connection) => generate(connection, { prompt: PROMPT })),
    make("Generate, 2 images", "Several at once", 2, (connection) =>
      generate(connection, { prompt: PROMPT, n: 2 }),
    ),
    ...sizes.map((size) =>
      make(`Size ${size}`, "Sizes", 1, (connection) => generate(connection, { prompt: PROMPT, size })),
    ),
    ...(edit
      ? [
          make("Edit, 1 image", "Edit", 1, editImages(1)),
          make("Edit, 2 images", "Several references", 1, editImages(2)),
        ]
      : []),
    ...(stream
      ? [make("Stream, 2 images", "Stream", 2, (connection) => stream(connection, { prompt: PROMPT, n: 2 }))]
      : []),
    ...(streamEdit
      ? [
          make("Stream of an edit", "Stream", 1, async (connection) =>
            streamEdit(connection, { prompt: PROMPT, images: [await drawPng()] }),
          ),
        ]
      : []),
    ...(listModels ? [list(listModels)] : []),
    {
      title: "A refused prompt",
      column: "Reason of an error",
      perform: async (connection) => {
        await generate(connection, { prompt: REFUSED });
        return { sizes: [] };
      },
      isDone: (got) => "error" in got && /sensitive|inappropriate/i.test(got.error),
    },
  ];
}

/** A prompt for which the emulator refuses the request, with the code of Ark or of DashScope. */
const REFUSED = "InputTextSensitiveContentDetected DataInspectionFailed";

/** The amounts of red of the images to edit. */
const COLOURS = [0, 200];

/** A scenario that is done if it gives this number of images. */
function make(
  title: string,
  column: Column,
  count: number,
  run: (connection: Connection) => Images,
): ClientScenario {
  return {
    title,
    column,
    perform: async (connection) => ({ sizes: await Promise.all((await run(connection)).map(measure)) }),
    isDone: (got) => "sizes" in got && got.sizes.length === count,
  };
}

function list(listModels: NonNullable<Client["listModels"]>): ClientScenario {
  return {
    title: "List models",
    column: "List models",
    perform: async (connection) => {
      const served = new Set([connection.model, connection.gptImage1, connection.gptImage2]);
      return { names: (await listModels(connection)).filter((name) => served.has(name)) };
    },
    isDone: (got) => "names" in got && got.names.length > 0,
  };
}

async function measure(image: Uint8Array): Promise<string> {
  const { width, height } = await sharp(image).metadata();
  return `${width}x${height}`;
}

/** Runs all scenarios of a client with all its models, without its profile and with it. */
export async function runClient(
  client: Client,
  { connect, statuses }: ServedModels,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const scenario of scenariosOf(client)) {
    for (const model of client.models ?? MODEL_KEYS) {
      for (const hasProfile of [false, true]) {
        const connection = connect(model, hasProfile ? client.profile : undefined);
        const got = await perform(scenario, connection, statuses);
        results.push({ client, scenario, model, hasProfile, got });
      }
    }
  }
  return results;
}

async function perform(
  scenario: ClientScenario,
  connection: Connection,
  statuses: readonly number[],
): Promise<Got> {
  try {
    return await scenario.perform(connection);
  } catch (error) {
    return { status: statuses.at(-1) ?? 0, error: String(error) };
  }
}
