export { openApiDocument } from "./features/openapi/document.js";
