import type { ImageRecipe } from "../drawing/recipe.js";
import type { ProviderCall } from "../provider.js";
import type { ProviderName } from "../provider-name.js";
import { randomHex } from "../random.js";
import type { Services } from "../services.js";
import { signLink } from "./sign.js";

/** Keeps the recipe and returns the link under which its picture is served until it expires. */
export function publishImage(
  recipe: ImageRecipe,
  provider: ProviderName,
  call: ProviderCall,
  services: Services,
): string {
  const { now, linkTtlSeconds } = services.settings;
  const id = randomHex(services.random, 32);
  services.recipes.keep(id, recipe);
  const issuedAt = Math.floor(now() / 1000);
  return signLink({
    provider,
    origin: call.origin,
    file: `${id}.${recipe.format}`,
    issuedAt: call.fault.expiredLinks === true ? issuedAt - linkTtlSeconds - 1 : issuedAt,
    ttlSeconds: linkTtlSeconds,
  });
}
