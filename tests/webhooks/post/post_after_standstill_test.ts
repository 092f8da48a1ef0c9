// needs: runtime
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { setTimeout as passed } from "node:timers/promises";
import { at, createPostParts, LOOPBACK, post } from "./post_parts.ts";

const parts = createPostParts();
const { receiver, poster } = parts;
afterEach(parts.close);

const TIMEOUT_MS = 100;

/** Blocks this process for longer than a post's timeout. */
function standStill(): void {
  const endMs = performance.now() + 3 * TIMEOUT_MS;
  while (performance.now() < endMs);
}

test("the poster sends nothing over an idle connection after a suspension longer than the post's timeout", async () => {
  const endpoint = await receiver();
  let stands = false;
  const by = poster({
    async check(url) {
      const target = await LOOPBACK.check(url);
      if (stands) standStill();
      return target;
    },
  });
  await post(by, at(endpoint, "/first"));
  stands = true;
  const { statusCode, error } = await post(by, at(endpoint, "/late"), { timeoutMs: TIMEOUT_MS });
  assert.deepEqual({ statusCode, error }, { statusCode: undefined, error: "timed out after 0.1 s" });
  await passed(50);
  assert.deepEqual(endpoint.requests.map(({ head }) => head.split(" ")[1]), ["/first"]);
});

test("the poster sends nothing over a new connection after a suspension longer than the post's timeout", async () => {
  const endpoint = await receiver();
  const by = poster({
    async check(url) {
      setImmediate(standStill);
      return await LOOPBACK.check(url);
    },
  });
  const { statusCode, error } = await post(by, at(endpoint, "/late"), { timeoutMs: TIMEOUT_MS });
  assert.deepEqual({ statusCode, error }, { statusCode: undefined, error: "timed out after 0.1 s" });
  await passed(50);
  assert.deepEqual(endpoint.requests, []);
});
