// needs: runtime
import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonResponse } from "../../lib/runtime/json_response.ts";

test("a JSON response has its shared headers and its own ones, and no headers of another response", async () => {
  const lasting = Object.freeze({ "x-limit": "120" });
  const first = jsonResponse('{"n":1}', 200, lasting, { "x-request-id": "a", "connection": "close" });
  const second = jsonResponse('{"n":2}', 202, lasting, { "x-request-id": "b" });
  const other = jsonResponse('{"n":3}', 200, Object.freeze({ "x-limit": "7" }), {});
  assert.deepEqual([first.status, second.status], [200, 202]);
  assert.deepEqual([...first.headers].toSorted(), [
    ["cache-control", "no-store"],
    ["connection", "close"],
    ["content-type", "application/json"],
    ["x-limit", "120"],
    ["x-request-id", "a"],
  ]);
  assert.deepEqual([...second.headers].toSorted(), [
    ["cache-control", "no-store"],
    ["content-type", "application/json"],
    ["x-limit", "120"],
    ["x-request-id", "b"],
  ]);
  assert.equal(other.headers.get("x-limit"), "7");
  assert.deepEqual(await Promise.all([first, second, other].map((one) => one.json())), [{ n: 1 }, { n: 2 }, { n: 3 }]);
});
