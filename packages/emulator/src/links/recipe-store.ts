import type { ImageRecipe } from "../drawing/recipe.js";

/** The recipes of the images that have result links, by id. */
export interface RecipeStore {
  store(id: string, recipe: ImageRecipe): void;
  find(id: string): ImageRecipe | undefined;
  clear(): void;
}

const maxBytes = 128 * 1024 * 1024;
const bytesOfARecord = 500;

/** Removes the oldest recipes above the limit: about 100,000 images without references, or some thousand edits. */
export function createRecipeStore(): RecipeStore {
  const recipes = new Map<string, ImageRecipe>();
  let bytes = 0;
  return {
    store(id, recipe) {
      recipes.set(id, recipe);
      bytes += bytesOf(recipe);
      for (const [oldestId, oldest] of recipes) {
        if (bytes <= maxBytes) break;
        recipes.delete(oldestId);
        bytes -= bytesOf(oldest);
      }
    },
    find: (id) => recipes.get(id),
    clear() {
      recipes.clear();
      bytes = 0;
    },
  };
}

function bytesOf(recipe: ImageRecipe): number {
  const thumbnails = recipe.references.reduce((sum, reference) => sum + reference.thumbnail.byteLength, 0);
  return bytesOfARecord + recipe.prompt.length * 2 + thumbnails;
}
