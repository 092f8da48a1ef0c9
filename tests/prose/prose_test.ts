// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { findingsIn } from "./rules.ts";
import { blocksOfMarkdown, blocksOfTypeScript } from "./sources.ts";

const problemsOf = (text: string) => findingsIn({ text, line: 1 }).map(({ problem }) => problem);

const SENTENCES: [text: string, problem: RegExp | undefined][] = [
  ["The watcher reads uncommitted ledgers again after a restart.", undefined],
  ["What was read and not committed is read again.", /clause as a subject/],
  ["What does a gateway store?", undefined],
  ["The client is told the outcome.", /who reports it/],
  ["Those that are left wait.", /name the noun/],
  ["Keys: a list; sorted: by id.", /more than one colon/],
  ["The time is 10:30 and the map is {a:1;b:2}.", undefined],
  [`${"word ".repeat(25)}.`, undefined],
  [`${"word ".repeat(26)}.`, /26 words/],
  [`${"word ".repeat(20)}. ${"Word ".repeat(20)}.`, undefined],
  [`Call \`${"word ".repeat(30)}\` or [two words](https://example.com/a/b).`, undefined],
];

for (const [text, problem] of SENTENCES) {
  test(`"${text.slice(0, 60)}" ${problem === undefined ? "passes" : `fails: ${problem.source}`}`, () => {
    const problems = problemsOf(text);
    if (problem === undefined) assert.deepEqual(problems, []);
    else assert.match(problems.join("\n"), problem);
  });
}

test("blocksOfMarkdown returns paragraphs, items and cells, without code", () => {
  const text =
    "# Title\n\nOne\ntwo.\n\n- item\n  more\n- next\n\n```sh\nWhat is code.\n```\n\n| a | b |\n|---|---|\n| c | d |\n";
  const blocks = blocksOfMarkdown(text).map(({ text }) => text.trim()).filter((text) => text !== "");
  assert.deepEqual(blocks, ["Title", "One\ntwo.", "item\n  more", "next", "a", "b", "c", "d"]);
});

test("blocksOfTypeScript returns comments and texts for people, without SQL and names", () => {
  const text = [
    "/** Reads a key.\n * @throws {Error} when it is gone */",
    "const a = `the key ${id} is disabled, create a new one`;",
    '// first line\n// second line\nconst b = "SELECT name FROM key WHERE id = 1";',
    'const c = "snake_case";',
  ].join("\n");
  const blocks = blocksOfTypeScript("a.ts", text).map(({ text }) => text.trim());
  assert.deepEqual(blocks, [
    "Reads a key.",
    "when it is gone",
    "the key Value is disabled, create a new one",
    "first line second line",
  ]);
});
