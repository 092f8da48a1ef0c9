// needs: runtime
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { openStore } from "../../lib/store/open.ts";
import { isInstalled } from "../docs/tools.ts";
import { sampleKey } from "../store/samples.ts";
import { folderForTests } from "../folder.ts";

const MAIN = fileURLToPath(new URL("../../main.ts", import.meta.url).href);
const GATEWAY = `${process.execPath}${runtimeName === "deno" ? " run -A" : ""} ${MAIN}`;
/** Far longer than a command takes: it waits for ever. */
const HANGS_MS = 60_000;

/** Runs `gateway` on a terminal of its own, types this at its question, and answers exit code and what was shown. */
async function runOnTerminal(
  line: string,
  typed: string,
  question = "[y/N] ",
): Promise<{ code: number | null; shown: string }> {
  const child = spawn("script", ["-qec", `${GATEWAY} ${line}`, "/dev/null"]);
  const timer = setTimeout(() => child.kill("SIGKILL"), HANGS_MS);
  let [shown, isAsked] = ["", false];
  child.stdout.on("data", (piece) => {
    shown += piece;
    if (isAsked || !shown.includes(question)) return;
    isAsked = true;
    child.stdin.write(typed);
  });
  const code = await new Promise<number | null>((resolve) => child.once("exit", resolve));
  clearTimeout(timer);
  return { code, shown };
}

describe("a question at the terminal", () => {
  if (process.platform !== "linux" || !isInstalled("script")) {
    return void test("needs Linux and script", { skip: true });
  }
  const folder = folderForTests();
  let setting: string;
  before(async () => {
    setting = `sqlite:${join(folder, "gateway.db")}`;
    const store = await openStore(setting);
    await store.keys.insert(sampleKey("key1"));
    await store.close();
  });

  for (const [name, typed] of [["Ctrl-C", "\x03"], ["Ctrl-D", "\x04"]] as const) {
    test(`that ${name} ends does not confirm, and the command ends`, async () => {
      const { code, shown } = await runOnTerminal(`keys delete key1 --store ${setting}`, typed);
      assert.equal(code, 1, shown);
      assert.match(shown, /gateway keys: the question was not answered/);
    });
  }

  test("for a secret does not show the input", async () => {
    const line = `verify --signature t=1,v1=${"0".repeat(64)} --body ${join(folder, "gateway.db")}`;
    const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const { code, shown } = await runOnTerminal(line, `${secret}\r`, "Secret: ");
    assert.equal(code, 1, shown);
    assert.match(shown, /Secret: \r?\n.*in the past/);
    assert.ok(!shown.includes("MfKQ"), "the secret is on the screen");
    const ended = await runOnTerminal(line, "\x03", "Secret: ");
    assert.deepEqual([ended.code, /the question was not answered/.test(ended.shown)], [1, true], ended.shown);
  });

  test("returns the answer", async () => {
    const { code, shown } = await runOnTerminal(`keys delete key1 --store ${setting}`, "y\r");
    assert.equal(code, 0, shown);
    assert.match(shown, /deleted key key1/);
  });
});
