import type { ImageRecipe } from "../drawing/recipe.js";

/** The recipes behind the result links, by id. */
export interface RecipeStore {
  keep(id: string, recipe: ImageRecipe): void;
  find(id: string): ImageRecipe | undefined;
  clear(): void;
}

const maxBytes = 128 * 1024 * 1024;
const bytesOfARecord = 500;

/** Forgets the oldest recipes past the limit: some 100,000 plain pictures, or some thousand edits. */
export function createRecipeStore(): RecipeStore {
  const recipes = new Map<string, ImageRecipe>();
  let bytes = 0;
  const forget = (id: string, recipe: ImageRecipe) => {
    recipes.delete(id);
    bytes -= weigh(recipe);
  };
  return {
    keep(id, recipe) {
      recipes.set(id, recipe);
      bytes += weigh(recipe);
      for (const [oldId, old] of recipes) {
        if (bytes <= maxBytes) break;
        forget(oldId, old);
      }
    },
    find: (id) => recipes.get(id),
    clear() {
      recipes.clear();
      bytes = 0;
    },
  };
}

function weigh(recipe: ImageRecipe): number {
  const thumbnails = recipe.references.reduce((sum, reference) => sum + reference.thumbnail.byteLength, 0);
  return bytesOfARecord + recipe.prompt.length * 2 + thumbnails;
}
