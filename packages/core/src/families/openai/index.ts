export { openai } from "./openai.js";
