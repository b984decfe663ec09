import { describe, expect, it } from "vitest";
import { LineSplitter } from "./sse-lines.js";

function split(...chunks: readonly string[]): { lines: readonly string[]; atLineStart: boolean } {
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => lines.push(line));
  for (const chunk of chunks) splitter.push(new TextEncoder().encode(chunk));
  return { lines, atLineStart: splitter.isAtLineStart };
}

describe("LineSplitter", () => {
  it.each([
    ["nothing", [""], []],
    ["an LF", ["a\n"], ["a"]],
    ["a CR", ["a\r"], ["a"]],
    ["a CRLF", ["a\r\n"], ["a"]],
    ["a CRLF that is cut", ["a\r", "\nb\n"], ["a", "b"]],
    ["a CRLF that is cut by an empty chunk", ["a\r", "", "\nb\n"], ["a", "b"]],
    ["a CRLF before a chunk that begins with an LF", ["a\r\n", "\nb\n"], ["a", "", "b"]],
    ["a CRLF that is cut, before an LF", ["a\r", "\n\nb\n"], ["a", "", "b"]],
    ["a CR before a CRLF", ["a\r\r\nb\n"], ["a", "", "b"]],
    ["an LF before a CR", ["a\n\rb\n"], ["a", "", "b"]],
    ["blank lines of every kind", ["\n\r\n\r\r\n"], ["", "", "", ""]],
    ["a line in three chunks", ["a", "b", "c\n"], ["abc"]],
    ["byte order marks", ["\uFEFFa\n\uFEFFb\n"], ["\uFEFFa", "\uFEFFb"]],
  ])("ends lines at %s", (_what, chunks, lines) => {
    expect(split(...chunks)).toEqual({ lines, atLineStart: true });
  });

  it("waits for the end of a line", () => {
    expect(split("a\nb")).toEqual({ lines: ["a"], atLineStart: false });
    expect(split("a\r\nb", "c")).toEqual({ lines: ["a"], atLineStart: false });
  });
});
