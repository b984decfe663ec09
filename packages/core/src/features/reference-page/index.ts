export {
  createReference,
  type ReferenceOptions,
  type ReferencePage,
} from "./reference-page.js";
