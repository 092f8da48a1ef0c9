// The prose linter: `lint.ts [PATH …]`. Without paths it checks every text of the project that people read.
import { readdirSync, readFileSync, statSync } from "node:fs";
import process from "node:process";
import { findingsIn } from "./rules.ts";
import { blocksOfMarkdown, blocksOfTypeScript } from "./sources.ts";

const EVERYTHING = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "SECURITY.md",
  "docs",
  "lib",
  "cli",
  "compile",
  "main.ts",
];
/** Generated, or written by others. */
const NOT_OURS = /node_modules|\/target\/|api_types\.ts|\/engine\/|\/npm\/dist\/|\/contracts\/.*\.md/;

function filesIn(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path).sort().flatMap((name) => filesIn(`${path}/${name}`));
}

const paths = process.argv.length > 2 ? process.argv.slice(2) : EVERYTHING;
let count = 0;
for (const path of paths.flatMap(filesIn).filter((path) => /\.(md|ts|js)$/.test(path) && !NOT_OURS.test(path))) {
  const text = readFileSync(path, "utf8");
  const blocks = path.endsWith(".md") ? blocksOfMarkdown(text) : blocksOfTypeScript(path, text);
  for (const { line, problem, sentence } of blocks.flatMap(findingsIn)) {
    count++;
    console.log(`${path}:${line}: ${problem}\n    ${sentence}`);
  }
}
console.log(count === 0 ? "prose: no findings" : `prose: ${count} findings`);
process.exitCode = count === 0 ? 0 : 1;
