import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ReadResponse } from "./support/http-client.js";
import { CALLER_HEADERS, GENERATIONS } from "./support/image-calls.js";
import { sendByFetch } from "./support/send-by-fetch.js";
import { startGateway } from "./support/test-gateway.js";
import { useProviders } from "./support/use-providers.js";

const FOLDER = join(import.meta.dirname, "../fixtures/json/JSONTestSuite");

interface ParsingCase {
  readonly file: string;
  readonly bytes: Buffer;
}

const PARSING = readCases("test_parsing");
const TRANSFORM = readCases("test_transform");

describe("bodies of JSONTestSuite", () => {
  const providers = useProviders();

  const responseTo = async ({ bytes }: ParsingCase): Promise<{ status: number; error: unknown }> => {
    const { gateway, logLines } = startGateway(providers());
    const response = await sendByFetch(gateway, { path: GENERATIONS, headers: CALLER_HEADERS, body: bytes });
    expect(logLines).toEqual([expect.stringContaining("A request was refused.")]);
    expect(providers().emulator.requests).toEqual([]);
    return readRefusal(response);
  };

  it.each(PARSING.filter(({ file }) => file.startsWith("y_")))("accepts $file", async (sample) => {
    expect(await responseTo(sample)).toMatchObject(refusal(explainValid(sample)));
  });

  it.each(PARSING.filter(({ file }) => file.startsWith("n_")))("refuses $file", async (sample) => {
    // A list or a number at the top is refused as such; the rest of it is not read.
    expect(await responseTo(sample)).toMatchObject(
      refusal(
        expect.stringMatching(
          /^The body (?:must be a JSON object|is (?:not valid JSON|not valid UTF-8|empty|nested deeper than))/,
        ),
      ),
    );
  });

  it.each(PARSING.filter(({ file }) => file.startsWith("i_")))(
    "accepts or refuses $file without an internal error",
    async (sample) => {
      expect(await responseTo(sample)).toMatchObject(
        refusal(expect.stringMatching(/^(?:The body |model is required$)/)),
      );
    },
  );

  it.each(TRANSFORM)("accepts or refuses $file without an internal error", async (sample) => {
    expect(await responseTo(sample)).toMatchObject(
      refusal(expect.stringMatching(/^(?:The body |The field .+ is given twice|model is required$)/)),
    );
  });

  it("is complete", () => {
    expect({ parsing: PARSING.length, transform: TRANSFORM.length }).toEqual({ parsing: 318, transform: 22 });
  });
});

/** The error for valid JSON that is not an image request. */
function explainValid({ file, bytes }: ParsingCase): string {
  if (file === "y_object_duplicated_key.json" || file === "y_object_duplicated_key_and_value.json") {
    return "The field a is given twice.";
  }
  const value: unknown = JSON.parse(bytes.toString("utf8"));
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? "model is required" : "The body must be a JSON object.";
}

/** The error of a refused request. */
function refusal(message: unknown) {
  const code = "invalid_request_error";
  return { status: 400, error: { message, type: code, code } };
}

function readRefusal({ status, text }: ReadResponse): { status: number; error: unknown } {
  const body = JSON.parse(text) as { error?: unknown };
  return { status, error: body.error };
}

function readCases(folder: string): ParsingCase[] {
  const files = readdirSync(join(FOLDER, folder)).toSorted();
  return files.map((file) => ({ file, bytes: readFileSync(join(FOLDER, folder, file)) }));
}
