export { gemini } from "./gemini.js";
