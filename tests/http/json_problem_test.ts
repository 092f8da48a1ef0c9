// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { jsonProblem } from "../../lib/http/validation/json_problem.ts";

const CASES: [string, string][] = [
  ["{", "a name or } was expected where the body ends"],
  ['{"a"', "a colon was expected where the body ends"],
  ['{"a":', "a value was expected where the body ends"],
  ['{"a":1', "a comma or } was expected where the body ends"],
  ['{"a":1,}', "a name was expected at line 1, column 8"],
  ["{'a':1}", "a name or } was expected at line 1, column 2"],
  ["{a:1}", "a name or } was expected at line 1, column 2"],
  ['{\n  "a": 1\n  "b": 2\n}', "a comma or } was expected at line 3, column 3"],
  ['{"a":01}', "a comma or } was expected at line 1, column 7"],
  ['{"a":+1}', "a value was expected at line 1, column 6"],
  ['{"a":"x\ny"}', "a value was expected at line 1, column 6"],
  ['{"a":"\\q"}', "a value was expected at line 1, column 6"],
  ['{"a":undefined}', "a value was expected at line 1, column 6"],
  ["[1,2", "a comma or ] was expected where the body ends"],
  ["[1,]", "a value was expected at line 1, column 4"],
  ["[1}", "a comma or ] was expected at line 1, column 3"],
  ["{} {}", "nothing more was expected at line 1, column 4"],
  ["nul", "a value was expected at line 1, column 1"],
];

for (const [text, problem] of CASES) {
  test(`${JSON.stringify(text)}: ${problem}`, () => assert.equal(jsonProblem(text), problem));
}

test("jsonProblem reports the end of the body or a position for any truncated JSON text", () => {
  fc.assert(fc.property(fc.json(), fc.nat(), (json, at) => {
    const text = json.slice(0, at % (json.length + 1));
    try {
      JSON.parse(text);
    } catch {
      assert.match(jsonProblem(text), / was expected (where the body ends|at line \d+, column \d+)$/);
    }
  }));
});

test("jsonProblem accepts a text of 65 000 characters", () => {
  assert.match(jsonProblem(`{"a":"${"x".repeat(65_000)}`), /^a value was expected at line 1, column 6$/);
  assert.match(jsonProblem("[".repeat(65_000)), /where the body ends$/);
  assert.match(jsonProblem("\n".repeat(65_000) + "}"), /^a value was expected at line 65001, column 1$/);
});
