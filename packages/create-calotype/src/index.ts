export {
  type AppChoices,
  FRAMEWORKS,
  type FrameworkName,
  PROVIDERS,
  type ProviderName,
  STORES,
  type StoreName,
  storesOf,
} from "./choices.js";
export { type AppNames, planApp } from "./plan-app.js";
