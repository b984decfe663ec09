export {
  type AppChoices,
  FRAMEWORKS,
  type FrameworkName,
  PROVIDERS,
  type ProviderName,
  SIGN_INS,
  type SignInName,
  STORES,
  type StoreName,
  signInsOf,
  storesOf,
} from "./choices.js";
export { type AppNames, planApp } from "./plan-app.js";
