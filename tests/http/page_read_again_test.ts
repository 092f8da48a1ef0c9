// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createPageAnswer } from "../../lib/http/pages/page_file.ts";

test("the next request reads a page again after a failed read, as without file descriptors", async () => {
  let reads = 0;
  const answer = createPageAnswer({
    path: "/docs",
    read: () => ++reads === 1 ? Promise.reject(new Error("Too many open files")) : Promise.resolve("<!doctype html>"),
  });
  const request = new Request("http://gateway.test/docs");
  await assert.rejects(answer(request), /Too many open files/);
  assert.equal(await (await answer(request)).text(), "<!doctype html>");
  assert.equal((await answer(request)).status, 200);
  assert.equal(reads, 2);
});
