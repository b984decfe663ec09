import { describe, expect, it } from "vitest";
import { HOSTILE_STRINGS } from "../ledger-suite/hostile-strings.js";
import { type OpenTaskLedger, useTaskLedger } from "./open-tasks.js";
import { completionOf, submissionOf, submit, take, taskRecordOf } from "./tasks.js";

const TEXTS = Object.values(HOSTILE_STRINGS);

/** Ids, names and contents are opaque: no string has a special meaning. */
export function describeTaskStrings(open: OpenTaskLedger): void {
  describe("a string of a task", () => {
    const bench = useTaskLedger(open);

    it.each(Object.entries(HOSTILE_STRINGS))("may be %s", async (_what, text) => {
      const { ledger, tasks } = bench();
      const repeat = { key: text, fingerprint: text };
      const names = { id: text, requestId: text, caller: text, model: text, group: text };
      const [task, hold] = submissionOf("1", { ...names, input: text, webhooks: [text], repeat });
      expect(await tasks.submit(task, hold)).toMatchObject({ kind: "submitted", task: { id: text } });
      expect(await tasks.submit(...submissionOf("2", { caller: text, repeat }))).toMatchObject({
        kind: "repeated",
      });
      expect(await take(ledger, 1, TEXTS)).toEqual([]);
      expect(await take(ledger, 1)).toMatchObject([{ id: text, caller: text, model: text, input: text }]);
      await tasks.putBack([text]);
      await take(ledger, 1);
      expect(await tasks.markSent(text)).toBe(true);
      await tasks.addImages(text, [text, text]);
      expect(await tasks.find(text, text)).toMatchObject({ images: [text, text] });
      const record = taskRecordOf("1", { id: text, caller: text, task: text });
      await tasks.end({ id: text, status: "failed", result: text, error: text, record });

      const ended = { id: text, requestId: text, status: "failed", result: text, error: text };
      expect(await tasks.find(text, text)).toMatchObject(ended);
      expect(await tasks.list(text, { limit: 1 })).toMatchObject([{ id: text, error: text }]);
      expect(await tasks.list(text, { limit: 1, after: text })).toEqual([]);
      expect(await ledger.balance(text)).toEqual({ settled: "0.3", held: "0" });
      const [taken] = await bench().outbox.lease("message", { limit: 1, leaseMs: 0, except: [] });
      expect(taken).toMatchObject({ message: { task: text, caller: text, endpoint: text }, task: ended });
      await bench().outbox.finish(taken?.message.id ?? "", { kind: "retry", delayMs: 0, error: text });
      await bench().outbox.setDisabled(text, text, true);
      expect(await bench().outbox.listDisabled()).toEqual([{ caller: text, endpoint: text }]);
      const filter = { caller: text, endpoint: text, task: text };
      expect(await bench().outbox.list(filter, 9)).toMatchObject([{ lastError: text }]);
    });

    it("is different from similar ones", async () => {
      const { ledger, tasks } = bench();
      for (const [at, text] of TEXTS.entries()) {
        const repeat = { key: text, fingerprint: text };
        const submitted = await submit(ledger, String(at), { id: text, caller: text, repeat });
        expect(submitted.kind).toBe("submitted");
      }
      for (const text of TEXTS) {
        expect(await tasks.list(text, { limit: 9 })).toMatchObject([{ id: text }]);
        await tasks.cancel(text, text);
        expect(await ledger.balance(text)).toEqual({ settled: "0", held: "0" });
      }
    });

    it("is stored as it was given, even if the object changes afterwards", async () => {
      const { ledger, tasks } = bench();
      const webhooks = ["shop"];
      const [task, hold] = submissionOf("1", { webhooks });
      const submitted = await tasks.submit(task, hold);
      webhooks.push("other");
      Object.assign(submitted, { task: undefined });
      const [taken] = await take(ledger);
      await tasks.markSent("task_1");
      const images = ["one"];
      await tasks.addImages("task_1", images);
      images.push("two");
      Object.assign(taken ?? {}, { status: "failed" });
      const found = await tasks.find("me", "task_1");
      expect(found).toMatchObject({ status: "in_progress", images: ["one"] });
      await tasks.end(completionOf("1"));

      expect(await bench().outbox.list({}, 9)).toHaveLength(1);
    });
  });
}
