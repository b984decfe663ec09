import { relative } from "node:path";
import type { Reporter, TestModule } from "vitest/node";

/**
 * Lists the tests that failed once and passed on the second attempt, with the error of the first. `npm test` allows a second
 * attempt because of busy machines. It must not hide a defect that shows only sometimes, so each of them is named.
 */
export function listSecondAttempts(write: (text: string) => void = toStandardOutput): Reporter {
  return {
    onTestRunEnd(modules) {
      const lines = modules.flatMap(describeModule);
      if (lines.length === 0) return;
      write(`\nPassed on the second attempt only:\n${lines.map((line) => `  ${line}\n`).join("")}`);
    },
  };
}

function describeModule(module: TestModule): readonly string[] {
  const path = relative(process.cwd(), module.moduleId);
  return [...module.children.allTests("passed")]
    .filter((test) => test.diagnostic()?.flaky === true)
    .map((test) => {
      const [message = ""] = test.result().errors?.[0]?.message.split("\n") ?? [];
      return `${path}: ${test.fullName}: ${message}`;
    });
}

function toStandardOutput(text: string): void {
  process.stdout.write(text);
}
