import { createPainter, type Painter } from "./drawing/painter.js";
import { createFaultControl, type FaultSource } from "./faults/fault-control.js";
import { createRecipeStore, type RecipeStore } from "./links/recipe-store.js";
import type { Settings } from "./options.js";
import { createRandom, type Random } from "./random.js";
import { createRecorder, type Recorder } from "./recorder.js";
import { createTaskStore, type TaskStore } from "./tasks/task-store.js";

/** The parts of one emulator. */
export interface Services {
  readonly settings: Settings;
  readonly random: Random;
  readonly faults: FaultSource;
  /** For the random sizes and lengths of faults. */
  readonly faultRandom: Random;
  readonly recorder: Recorder;
  readonly recipes: RecipeStore;
  readonly tasks: TaskStore;
  readonly draw: Painter;
}

export function createServices(settings: Settings): Services {
  const random = createRandom(settings.seed);
  return {
    settings,
    random,
    // Its own random numbers, so that the probability of faults does not depend on the number of ids made before.
    faults: createFaultControl(createRandom(settings.seed + 1)),
    faultRandom: createRandom(settings.seed + 2),
    recorder: createRecorder(),
    recipes: createRecipeStore(),
    tasks: createTaskStore({ settings, random }),
    draw: createPainter(settings.images),
  };
}
