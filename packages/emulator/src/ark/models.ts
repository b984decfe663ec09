/** What one Seedream model takes. Ark documents these per model; see the tables of limits in its image API. */
export interface ArkModel {
  /** With `doubao-` in China, without it abroad; the dated suffix is part of the name. */
  readonly id: string;
  readonly presets: readonly ArkPreset[];
  readonly minPixels: number;
  readonly maxPixels: number;
  /** `optimize_prompt_options.mode: "fast"`. */
  readonly takesFastMode: boolean;
  /** Whether `output_format` has an effect; else every picture is a JPEG. */
  readonly honoursOutputFormat: boolean;
  readonly searchesTheWeb: boolean;
}

export type ArkPreset = "1K" | "2K" | "3K" | "4K";

const common = {
  minPixels: 3_686_400,
  maxPixels: 16_777_216,
  takesFastMode: false,
  honoursOutputFormat: false,
  searchesTheWeb: false,
} as const;

const models: readonly ArkModel[] = [
  {
    ...common,
    id: "seedream-5-0-lite-260128",
    presets: ["2K", "3K", "4K"],
    honoursOutputFormat: true,
    searchesTheWeb: true,
  },
  { ...common, id: "seedream-4-5-251128", presets: ["2K", "4K"] },
  {
    ...common,
    id: "seedream-4-0-250828",
    presets: ["1K", "2K", "4K"],
    minPixels: 921_600,
    takesFastMode: true,
  },
];

/** A model by id or endpoint id. An undated name is none. */
export function findArkModel(
  name: string,
  endpoints: Readonly<Record<string, string>>,
): ArkModel | undefined {
  const id = Object.hasOwn(endpoints, name) ? (endpoints[name] ?? name) : name;
  const model = models.find((candidate) => candidate.id === id.replace(/^doubao-/, ""));
  return model && { ...model, id };
}
