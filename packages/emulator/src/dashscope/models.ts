/** How a model reads `parameters.size`. */
export type SizeRule =
  /** Any sides whose product lies between; the default area takes the last reference's ratio. */
  | {
      readonly kind: "area";
      readonly minPixels: number;
      readonly maxPixels: number;
      readonly defaultArea: number;
    }
  /** Each side between; likewise. */
  | { readonly kind: "sides"; readonly min: number; readonly max: number; readonly defaultArea: number }
  /** One of a list, the first by default. */
  | { readonly kind: "list"; readonly sizes: readonly string[] }
  /** The parameter does not exist and is ignored. */
  | { readonly kind: "none"; readonly min: number; readonly max: number; readonly defaultArea: number };

/** What one series of Qwen-Image models takes. */
export interface DashscopeModel {
  /** The series: this name, alone or followed by a dash and a date. */
  readonly series: string;
  readonly size: SizeRule;
  readonly maxImages: number;
  readonly minReferences: number;
}

const anyArea: SizeRule = {
  kind: "area",
  minPixels: 512 * 512,
  maxPixels: 2048 * 2048,
  defaultArea: 2048 * 2048,
};
/** Their order is that of the provider's message. */
const fiveSizes: SizeRule = {
  kind: "list",
  sizes: ["1664*928", "1472*1104", "1328*1328", "1104*1472", "928*1664"],
};
const anySides: SizeRule = { kind: "sides", min: 512, max: 2048, defaultArea: 1024 * 1024 };

const models: readonly DashscopeModel[] = [
  { series: "qwen-image-2.0-pro", size: anyArea, maxImages: 6, minReferences: 0 },
  { series: "qwen-image-2.0", size: anyArea, maxImages: 6, minReferences: 0 },
  { series: "qwen-image-max", size: fiveSizes, maxImages: 1, minReferences: 0 },
  { series: "qwen-image-plus", size: fiveSizes, maxImages: 1, minReferences: 0 },
  { series: "qwen-image-edit-max", size: anySides, maxImages: 6, minReferences: 1 },
  { series: "qwen-image-edit-plus", size: anySides, maxImages: 6, minReferences: 1 },
  { series: "qwen-image-edit", size: { ...anySides, kind: "none" }, maxImages: 1, minReferences: 1 },
];

/** `qwen-image-plus` and `qwen-image-plus-2026-01-09` are one model; `qwen-image-plussed` is none. */
export function findDashscopeModel(name: string): DashscopeModel | undefined {
  return models.find(({ series }) => name === series || /^-\d{4}/.test(removePrefix(name, series)));
}

function removePrefix(name: string, prefix: string): string {
  return name.startsWith(prefix) ? name.slice(prefix.length) : "";
}
