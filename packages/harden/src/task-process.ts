// Runs one task and sends its result to the parent process.
import { findPart } from "./parts.ts";
import { runPart, type Task } from "./run-part.ts";

// Long stack traces took a tenth of the time. A replay shows them whole.
Error.stackTraceLimit = 3;
const task: Task = JSON.parse(process.argv[2] ?? "");
const result = await runPart(findPart(task.part), task);
process.send?.(result, () => process.exit());
