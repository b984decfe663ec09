import { fork } from "node:child_process";
import { once } from "node:events";
import { type Task, type TaskResult, writeFinding } from "./run-part.ts";

/** Time after the deadline for the last input, for making findings smaller, and for clean-up. */
const GRACE_MS = 90_000;
/** The number of characters of error output that a finding keeps. */
const MAX_OUTPUT = 4_000;

/** Runs a task in its own process. A process that dies or hangs is a finding. */
export async function runTask(task: Task): Promise<TaskResult> {
  const child = fork(new URL("task-process.ts", import.meta.url), [JSON.stringify(task)], {
    stdio: ["ignore", "inherit", "pipe", "ipc"],
    execArgv: ["--disable-warning=ExperimentalWarning", "--expose-gc"],
  });
  let result: TaskResult | undefined;
  let output = "";
  child.on("message", (message: TaskResult) => {
    result = message;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    output = (output + text).slice(-MAX_OUTPUT);
  });
  let isOverdue = false;
  const timer = setTimeout(
    () => {
      isOverdue = true;
      child.kill("SIGKILL");
    },
    task.seconds * 1000 + GRACE_MS,
  );
  await once(child, "close");
  clearTimeout(timer);
  if (result !== undefined && !isOverdue) return result;
  const rule = isOverdue ? "the process ends in time" : "the process does not die";
  const seen = `exit code ${child.exitCode}, signal ${child.signalCode}\n${output}`;
  return {
    figures: result?.figures ?? {},
    findings: [
      ...(result?.findings ?? []),
      writeFinding({ name: task.part }, task.seed, { rule, input: null, seen }),
    ],
  };
}
