// needs: once
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { isInstalled, sampleTexts } from "./tools.ts";

/*
 * Checks that the pages have their samples, and that each language can parse them. The TypeScript and the
 * Python run in task_pages_test.ts and client_pages_test.ts, Java and Go in signing_samples_test.ts.
 */
const PAGES = ["signing", "take-a-payment", "get-paid", "lost-card", "clients", "webhooks"];

test("each page has its number of samples in each language", () => {
  const languages = ["TypeScript", "Python", "Java", "Go", "stellar CLI", "Freighter"];
  const counts = PAGES.map((page) => languages.map((language) => sampleTexts(`${page}.md`, language).length));
  assert.deepEqual(counts, [
    [2, 2, 1, 1, 1, 1],
    [3, 3, 0, 0, 0, 0],
    [3, 3, 0, 0, 0, 0],
    [1, 1, 0, 0, 0, 0],
    [3, 3, 0, 0, 0, 0],
    [1, 1, 0, 0, 0, 0],
  ]);
});

const isNotInstall = (text: string) => !text.startsWith("pip ");

/** Asserts that a program accepts the syntax of a text on its standard input. */
function assertSyntax(program: string, args: string[], text: string): void {
  const { status, stderr } = spawnSync(program, args, { input: text, encoding: "utf8" });
  assert.equal(status, 0, `${stderr}\n${text}`);
}

test("Python parses the Python samples", { skip: !isInstalled("python3") && "needs python3" }, () => {
  const texts = PAGES.flatMap((page) => sampleTexts(`${page}.md`, "Python")).filter(isNotInstall);
  const reading = "import ast, json, sys\nfor text in json.load(sys.stdin): ast.parse(text)";
  assertSyntax("python3", ["-c", reading], JSON.stringify(texts));
});

test("gofmt parses the Go samples", { skip: !isInstalled("gofmt") && "needs gofmt" }, () => {
  for (const text of sampleTexts("signing.md", "Go")) assertSyntax("gofmt", ["-e"], text);
});

test("a shell parses the sample of the stellar CLI", () => {
  for (const text of sampleTexts("signing.md", "stellar CLI")) assertSyntax("sh", ["-n"], text);
});

test("the Java and Go samples have a function sign with parameters xdr, networkPassphrase and secret", () => {
  const [java] = sampleTexts("signing.md", "Java");
  const [go] = sampleTexts("signing.md", "Go");
  assert.match(
    java!,
    /^final class Signing \{$[\s\S]*^ {2}static String sign\(String xdr, String networkPassphrase, String secret\)$/m,
  );
  assert.match(go!, /^func Sign\(xdr, networkPassphrase, secret string\) \(string, error\) \{$/m);
});
