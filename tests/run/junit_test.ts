// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { denoTimes, readJunit } from "./junit.ts";
import { needsOf } from "./needs.ts";

const BUN = `<testsuites name="bun test" tests="4" failures="2">
  <testsuite name="tests/a_test.ts" file="tests/a_test.ts" tests="4" time="0.07">
    <testcase name="fails here" classname="" time="0.00243" file="tests/a_test.ts" line="3" assertions="0">
      <failure type="AssertionError" message="1 !== 2">AssertionError: 1 !== 2&#10;      at tests/a_test.ts:3</failure>
    </testcase>
    <testsuite name="group" file="tests/a_test.ts" line="4" tests="3" time="0">
      <testcase name="says &lt;x&gt; &amp; &quot;y&quot;" classname="group" time="0.25" file="tests/a_test.ts" line="4" />
      <testcase name="skips" classname="group" time="0" file="tests/a_test.ts" line="4">
        <skipped />
      </testcase>
    </testsuite>
  </testsuite>
</testsuites>`;

const DENO = `<testsuites name="deno test" tests="5" failures="3" errors="0" time="0.011">
    <testsuite name="./tests/a_test.ts" tests="2" disabled="0" errors="0" failures="2">
        <testcase name="fails here" classname="./tests/a_test.ts" time="0.003" line="3" col="1">
            <failure message="Uncaught AssertionError: 1 !== 2">AssertionError: 1 !== 2</failure>
        </testcase>
        <testcase name="group" classname="./tests/a_test.ts" time="0.250" line="4" col="1">
            <failure message="1 test step failed">1 test step failed.</failure>
        </testcase>
    </testsuite>
    <testsuite name="ext:deno_node/testing.ts" tests="3" disabled="1" errors="0" failures="1">
        <testcase name="group &gt; inner &gt; fails" classname="ext:deno_node/testing.ts" time="0.000" line="1" col="23191">
            <failure message="Uncaught Error: boom">Error: boom</failure>
        </testcase>
        <testcase name="group &gt; inner" classname="ext:deno_node/testing.ts" time="0.000" line="1" col="23191">
            <failure message="1 test step failed">1 test step failed.</failure>
        </testcase>
        <testcase name="group &gt; skips" classname="ext:deno_node/testing.ts" time="0.000" line="1" col="21231">
            <skipped/>
        </testcase>
    </testsuite>
</testsuites>`;

test("readJunit reads Bun's report, with the group before the name", () => {
  assert.deepEqual(readJunit(BUN), [
    {
      file: "tests/a_test.ts",
      name: "fails here",
      seconds: 0.00243,
      state: "failed",
      why: "AssertionError: 1 !== 2\n      at tests/a_test.ts:3",
    },
    { file: "tests/a_test.ts", name: 'group > says <x> & "y"', seconds: 0.25, state: "passed", why: "" },
    { file: "tests/a_test.ts", name: "group > skips", seconds: 0, state: "skipped", why: "" },
  ]);
});

test("readJunit reads Deno's report, without the group entries, and with the file of the group", () => {
  assert.deepEqual(
    readJunit(DENO).map(({ file, name, state, why }) => [file, name, state, why]),
    [
      ["tests/a_test.ts", "fails here", "failed", "AssertionError: 1 !== 2"],
      ["tests/a_test.ts", "group > inner > fails", "failed", "Error: boom"],
      ["tests/a_test.ts", "group > skips", "skipped", ""],
    ],
  );
  assert.deepEqual(denoTimes(DENO), { "tests/a_test.ts": 253 });
});

test("needsOf reads a file's needs only from its first line", () => {
  assert.deepEqual(needsOf("// needs: runtime\nimport"), { on: "runtime", isLong: false });
  assert.deepEqual(needsOf("// needs: long, once\nimport"), { on: "once", isLong: true });
  assert.equal(needsOf("import\n// needs: once\n"), undefined);
  assert.equal(needsOf("// needs: both\n"), undefined);
});
