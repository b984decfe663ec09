import { describe, expect, it } from "vitest";
import { bfl } from "./bfl/bfl.js";
import { BFL_MODELS } from "./bfl/models.js";
import type { ModelRow } from "./capabilities.js";
import { fal } from "./fal/fal.js";
import { FAL_MODELS } from "./fal/models.js";
import { gemini } from "./gemini/gemini.js";
import { GEMINI_MODELS } from "./gemini/models.js";
import { OPENAI_MODELS } from "./openai/models.js";
import { openai } from "./openai/openai.js";
import { findQwenImageCapabilities } from "./qwen-image/capabilities.js";
import { QWEN_IMAGE_MODELS } from "./qwen-image/models.js";
import { REPLICATE_MODELS } from "./replicate/models.js";
import { replicate } from "./replicate/replicate.js";
import { findSeedreamCapabilities } from "./seedream/capabilities.js";
import { SEEDREAM_MODELS } from "./seedream/models.js";

/** The names that each row means, by the row's first name. Every other name here must find another row or none. */
const SEEDREAM_NAMES: Readonly<Record<string, readonly string[]>> = {
  "seedream-5-5": [
    "seedream-5-5",
    "seedream-5-5-261028",
    "doubao-seedream-5-5-261028",
    "dola-seedream-5-5-261028",
  ],
  "seedream-5-0-pro": [
    "seedream-5-0-pro",
    "seedream-5-0-pro-260628",
    "doubao-seedream-5-0-pro",
    "doubao-seedream-5-0-pro-260628",
    "dola-seedream-5-0-pro-260628",
    "seedream-5-0-pro-270101",
  ],
  "seedream-5-0-flash": [
    "seedream-5-0-flash",
    "doubao-seedream-5-0-flash-260915",
    "dola-seedream-5-0-flash-260915",
  ],
  "seedream-5-0-lite": [
    "seedream-5-0-lite",
    "seedream-5-0-lite-260128",
    "doubao-seedream-5-0-lite-260128",
    "seedream-5-0",
    "seedream-5-0-260128",
    "doubao-seedream-5-0-260128",
  ],
  "seedream-4-5": ["seedream-4-5", "seedream-4-5-251128", "doubao-seedream-4-5-251128"],
  "seedream-4-0": ["seedream-4-0", "seedream-4-0-250828", "doubao-seedream-4-0-250828"],
};

const QWEN_IMAGE_NAMES: Readonly<Record<string, readonly string[]>> = {
  "qwen-image-3.0-pro": ["qwen-image-3.0-pro", "image-3.0-pro", "qwen-image-3.0-pro-2026-07-20"],
  "qwen-image-3.0": ["qwen-image-3.0", "image-3.0", "qwen-image-3.0-2026-08-04"],
  "qwen-image-2.0-pro": ["qwen-image-2.0-pro", "image-2.0-pro", "qwen-image-2.0-pro-2026-06-22"],
  "qwen-image-2.0": ["qwen-image-2.0", "image-2.0", "image-2.0-2026-03-03"],
  "qwen-image-max": ["qwen-image-max", "image-max", "qwen-image-max-2025-12-30"],
  "qwen-image-plus": ["qwen-image-plus", "image-plus", "qwen-image-plus-2026-01-09"],
  "qwen-image-edit-max": ["qwen-image-edit-max", "image-edit-max", "qwen-image-edit-max-2026-01-16"],
  "qwen-image-edit-plus": ["qwen-image-edit-plus", "image-edit-plus", "image-edit-plus-2025-12-15"],
  "qwen-image-edit": ["qwen-image-edit", "image-edit", "qwen-image-edit-2025-10-30"],
  "wan2.7-image-pro": ["wan2.7-image-pro", "wan2.7-image-pro-2026-10-01"],
  "wan2.7-image": ["wan2.7-image"],
};

const GEMINI_NAMES: Readonly<Record<string, readonly string[]>> = {
  "gemini-nano-banana-2.1": ["gemini-nano-banana-2.1", "gemini-nano-banana-2.1-preview"],
  "gemini-3-pro-image": ["gemini-3-pro-image", "gemini-3-pro-image-preview"],
  "gemini-3.1-flash-lite-image": ["gemini-3.1-flash-lite-image"],
  "gemini-3.1-flash-image": ["gemini-3.1-flash-image", "gemini-3.1-flash-image-preview"],
  "gemini-2.5-flash-image": ["gemini-2.5-flash-image", "gemini-2.5-flash-image-preview"],
};

const OPENAI_NAMES: Readonly<Record<string, readonly string[]>> = {
  "gpt-image-2.6-sunburst": ["gpt-image-2.6-sunburst", "gpt-image-2.6-flare"],
  "gpt-image-2.5-sunburst": [
    "gpt-image-2.5-sunburst",
    "gpt-image-2.5-sunburst-2026-09-08",
    "gpt-image-2.5-flare",
    "gpt-image-2.5-flare-2026-09-08",
  ],
  "gpt-image-2": ["gpt-image-2", "gpt-image-2-2026-04-21"],
  "gpt-image-1.5": ["gpt-image-1.5", "chatgpt-image-latest"],
  "gpt-image-1-mini": ["gpt-image-1-mini"],
};

const NEAR_MISSES = [
  "gpt-image-1",
  "gpt-image-2-mini",
  "gpt-image-2.5",
  "gpt-image-2-20260421",
  "openai/gpt-image-2",
  "dall-e-3",
  "gemini-3-pro-image-preview-preview",
  "gemini-nano-banana-2",
  "models/gemini-3-pro-image",
  "seedream-5-0-professional",
  "seedream-5-0-pro-",
  "seedream-5-0-pro-26062",
  "seedream-5-0-pro-2606281",
  "seedream-5-0-pro-260628-x",
  "seedream-5-0-pro-cheap",
  "seedream-5-0-turbo",
  "seedream-5-0-lite-plus-270101",
  "seedream-5-0*",
  "seedream-5-0-my-posters",
  "seedream-5-5x",
  "seedream-5-5-pro-270101",
  "seedream-5-50",
  "seedream-15-5",
  "seedream-4-5-2025-11-28",
  "seedream-3-0",
  "seedream-3-0-t2i-250415",
  "seedream",
  "my-seedream-4-0",
  "doubao-doubao-seedream-4-0-250828",
  "dola-doubao-seedream-5-5-261028",
  "seedream-doubao-4-0",
  "Seedream-4-0-250828",
  "poster-5.5",
  "ep-20251128-abcde",
  "qwen-image",
  "image",
  "qwen-image-edit-maximum",
  "qwen-image-edit-pro",
  "qwen-image-edit-plus-2026",
  "qwen-image-edit*",
  "qwen-image-3.0-professional",
  "qwen-image-3.0-plus",
  "qwen-image-2.0-pro-x",
  "qwen-image-2.0-pro-260622",
  "qwen-image-2.05",
  "qwen-image-2",
  "qwen-image-1.0",
  "qwen-image-maxi",
  "image-qwen-image-max",
  "image-image-max",
  "my-image-max",
  "qwen-image-plus-2026-01-09-x",
  "wan2.7-image-plus",
  "wan2.7-images",
  "wan2.7",
  "wan2.6-image",
  "image-wan2.7-image",
  "constructor",
  "__proto__",
  "",
];

interface Table {
  readonly rows: readonly ModelRow[];
  readonly find: (name: string) => unknown;
  readonly names: Readonly<Record<string, readonly string[]>>;
}

const TABLES: Readonly<Record<string, Table>> = {
  seedream: { rows: SEEDREAM_MODELS, find: findSeedreamCapabilities, names: SEEDREAM_NAMES },
  "qwen-image": { rows: QWEN_IMAGE_MODELS, find: findQwenImageCapabilities, names: QWEN_IMAGE_NAMES },
  openai: { rows: OPENAI_MODELS, find: (name) => openai.findCapabilities?.(name), names: OPENAI_NAMES },
  gemini: { rows: GEMINI_MODELS, find: (name) => gemini.findCapabilities?.(name), names: GEMINI_NAMES },
  bfl: { rows: BFL_MODELS, find: (name) => bfl.findCapabilities?.(name), names: listOwnNames(BFL_MODELS) },
  fal: { rows: FAL_MODELS, find: (name) => fal.findCapabilities?.(name), names: listOwnNames(FAL_MODELS) },
  replicate: {
    rows: REPLICATE_MODELS,
    find: (name) => replicate.findCapabilities?.(name),
    names: listOwnNames(REPLICATE_MODELS),
  },
};

/** Of providers whose models have no names besides those of the rows. */
function listOwnNames(rows: readonly ModelRow[]): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(rows.map(({ names }) => [names[0], names]));
}

const ALL_NAMES = [
  ...new Set([...Object.values(TABLES).flatMap(({ names }) => Object.values(names).flat()), ...NEAR_MISSES]),
];

describe.each(Object.entries(TABLES))("a row of %s", (_family, { rows, find, names }) => {
  it.each(rows.map((row) => [row.names[0] ?? "", row] as const))(
    "%s is found by its names only",
    (first, row) => {
      const found = ALL_NAMES.filter((name) => find(name) === row);
      expect(found.toSorted()).toEqual([...(names[first] ?? [])].toSorted());
    },
  );

  it("has the expected names, each once", () => {
    expect(rows.map((row) => row.names[0])).toEqual(Object.keys(names));
    const all = rows.flatMap((row) => row.names);
    expect(new Set(all).size).toBe(all.length);
  });

  it.each(rows.map((row) => [row.names[0], row] as const))(
    "%s is found by its names at the provider",
    (_name, row) => {
      for (const name of row.upstreamNames ?? []) expect(find(name)).toBe(row);
    },
  );

  it.each(rows.map((row) => [row.names[0], row] as const))(
    "%s states a source, a date and all limits",
    (_name, row) => {
      expect(row.source).toMatch(/\S/);
      expect(row.checked).toMatch(/^20\d\d-(?:0[1-9]|1[0-2])$/);
      expect(row).toMatchObject({
        size: expect.anything(),
        references: { max: expect.any(Number) },
        imagesPerCall: expect.any(Number),
      });
    },
  );
});

it.each(NEAR_MISSES)("%s is the name of no row", (name) => {
  for (const { find } of Object.values(TABLES)) expect(find(name)).toBeUndefined();
});

it.each([
  ["seedream", ["seedream-5-5", "seedream-5-0-pro", "seedream-5-0-flash"]],
  ["qwen-image", ["qwen-image-max", "qwen-image-plus", "qwen-image-edit"]],
  ["gemini", Object.keys(GEMINI_NAMES)],
])("the models of %s that make one image per call are %j", (family, expected) => {
  const single = TABLES[family]?.rows.filter(({ imagesPerCall }) => imagesPerCall === 1) ?? [];
  expect(single.map(({ names }) => names[0])).toEqual(expected);
});
