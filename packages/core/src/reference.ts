export {
  createReference,
  type ReferenceOptions,
  type ReferencePage,
} from "./features/reference-page/reference-page.js";
