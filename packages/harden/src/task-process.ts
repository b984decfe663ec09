// The process of one task: runs a part and sends the result to the parent.
import { findPart } from "./parts.ts";
import { runPart, type Task } from "./run-part.ts";

// Taking the stacks of errors is a tenth of the time; a replay shows them whole.
Error.stackTraceLimit = 3;
const task: Task = JSON.parse(process.argv[2] ?? "");
const result = await runPart(findPart(task.part), task);
process.send?.(result, () => process.exit());
