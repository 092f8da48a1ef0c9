// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { METHOD_NAME_ALL } from "hono/router";
import { PathRouter } from "../../lib/http/router.ts";

function router(paths: [string, string][]): (method: string, path: string) => unknown {
  const made = new PathRouter<string>();
  for (const [method, path] of paths) made.add(method, path, `${method} ${path}`);
  return (method, path) => made.match(method, path)[0][0];
}

const match = router([
  ["GET", "/v1/things"],
  ["POST", "/v1/things"],
  ["GET", "/v1/things/:id"],
  ["POST", "/v1/things/new"],
  [METHOD_NAME_ALL, "/v1/things/new"],
  ["GET", "/v1/things/:id/parts/:part"],
  ["GET", "/"],
]);

test("finds the one handler of a path and a method, and what stands for the names", () => {
  assert.deepEqual(match("GET", "/v1/things"), ["GET /v1/things", {}]);
  assert.deepEqual(match("POST", "/v1/things"), ["POST /v1/things", {}]);
  assert.deepEqual(match("GET", "/v1/things/a%2Fb"), ["GET /v1/things/:id", { id: "a%2Fb" }]);
  assert.deepEqual(match("GET", "/v1/things/a/parts/b"), ["GET /v1/things/:id/parts/:part", { id: "a", part: "b" }]);
  assert.deepEqual(match("GET", "/"), ["GET /", {}]);
});

test("a fixed step beats a name, and the handler for any method stands back for the one of this method", () => {
  assert.deepEqual(match("POST", "/v1/things/new"), ["POST /v1/things/new", {}]);
  assert.deepEqual(match("GET", "/v1/things/new"), ["ALL /v1/things/new", {}]);
  assert.deepEqual(match("GET", "/v1/things/newer"), ["GET /v1/things/:id", { id: "newer" }]);
});

test("finds nothing else", () => {
  const others = [
    "",
    "/v1",
    "/v1/",
    "/v1/things/",
    "/v1//things",
    "//v1/things",
    "/v1/things/a/parts",
    "/V1/things",
    "/v1/thing",
  ];
  for (const path of others) assert.equal(match("GET", path), undefined, path);
  assert.equal(match("DELETE", "/v1/things"), undefined);
  assert.equal(match("GET", "/v1/things/a/parts/"), undefined);
});

test("refuses what it could not keep: wildcards, two handlers for one place, two names for one", () => {
  const made = new PathRouter<string>();
  made.add("GET", "/a/:id", "");
  for (const path of ["*", "/*", "/a/*", "/a/:id?", "/a/:id{[0-9]+}"]) {
    assert.throws(() => made.add("GET", path, ""), path);
  }
  assert.throws(() => made.add("GET", "/a/:id", ""), /already has a handler/);
  assert.throws(() => made.add("GET", "/a/:other/b", ""), /already has :id in place of :other/);
});

test("what it is told to keep is answered as before, and only for GET", () => {
  const made = new PathRouter<string>();
  made.add("GET", "/a/:id", "get");
  made.add("POST", "/a/:id", "post");
  made.keep("/a/1");
  assert.deepEqual(made.match("GET", "/a/1"), [[["get", { id: "1" }]]]);
  assert.deepEqual(made.match("POST", "/a/1"), [[["post", { id: "1" }]]]);
  assert.deepEqual(made.match("GET", "/a/2"), [[["get", { id: "2" }]]]);
});
