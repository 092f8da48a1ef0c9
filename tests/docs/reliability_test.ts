// needs: once
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { readDoc } from "./tools.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url).href);
const page = readDoc("reliability.md") + readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8");

/** Whether a file or folder matches this path; `*` in its last part matches anything. */
function isThere(path: string): boolean {
  const [folder, pattern] = [path.slice(0, path.lastIndexOf("/")), path.slice(path.lastIndexOf("/") + 1)];
  if (!pattern.includes("*")) return existsSync(join(ROOT, path));
  const name = new RegExp(`^${pattern.replaceAll("*", ".*")}$`);
  return readdirSync(join(ROOT, folder)).some((file) => name.test(file));
}

test("the tests and the FAULT_ and FUZZ_ variables that the reliability page and CONTRIBUTING.md name exist", () => {
  const paths = [...page.matchAll(/\btests\/[\w/*]+(?:\.ts)?/g)].map(([path]) => path);
  assert.ok(paths.length >= 15);
  assert.deepEqual(paths.filter((path) => !isThere(path)), []);
  const tests = readdirSync(join(ROOT, "tests"), { recursive: true, encoding: "utf8" })
    .filter((name) => /^(faults|fuzz)\/\w+\.ts$/.test(name))
    .map((name) => readFileSync(join(ROOT, "tests", name), "utf8"));
  const variables = [...page.matchAll(/\b(?:FAULT|FUZZ)_[A-Z]+\b/g)].map(([name]) => name);
  assert.ok(variables.length >= 4);
  assert.deepEqual(variables.filter((name) => !tests.some((text) => text.includes(`process.env.${name}`))), []);
});
