// needs: runtime
import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import type { PosterOptions } from "../../../lib/webhooks/post/post.ts";
import { createTargetPolicy } from "../../../lib/webhooks/targets/policy.ts";
import { at, createPostParts, LOOPBACK, post, vetting } from "./post_parts.ts";
import { until } from "../../until.ts";
import { OK_ANSWER } from "../receiver.ts";

const parts = createPostParts();
const { receiver, poster } = parts;
afterEach(parts.close);

describe("a post", () => {
  test("carries path, query, headers and body as they are, and asks for no compression", async () => {
    const endpoint = await receiver();
    const result = await post(poster(), at(endpoint, "/in/%7Ea?b=c%20d"));
    const { durationMs, ...rest } = result;
    assert.deepEqual(rest, { statusCode: 200, responseBody: "ok", address: "127.0.0.1" });
    assert.ok(durationMs >= 0);
    assert.equal(endpoint.requests[0]!.body, '{"a":"ü"}');
    assert.deepEqual(endpoint.requests[0]!.head.split("\r\n"), [
      "POST /in/%7Ea?b=c%20d HTTP/1.1",
      `Host: 127.0.0.1:${endpoint.port}`,
      "Content-Type: application/json",
      "Accept: */*",
      "Accept-Encoding: identity",
      "Content-Length: 10",
    ]);
  });

  test("never gets a header that would become two", async () => {
    const endpoint = await receiver();
    for (const value of ["a\r\nX: b", "a\nb", "a\0", "ü"]) {
      await assert.rejects(post(poster(), at(endpoint), { headers: { "webhook-id": value } }), TypeError);
    }
    assert.equal(endpoint.connections, 0);
  });

  test("reuses connections, and opens no more than there are concurrent posts", async () => {
    const endpoint = await receiver();
    const by = poster();
    for (let i = 0; i < 5; i++) assert.equal((await post(by, at(endpoint, `/${i}`))).statusCode, 200);
    assert.equal(endpoint.connections, 1);
    await Promise.all(Array.from({ length: 10 }, () => post(by, at(endpoint))));
    assert.equal(endpoint.connections, 10);
    await Promise.all(Array.from({ length: 10 }, () => post(by, at(endpoint))));
    assert.equal(endpoint.connections, 10);
  });

  test("shares no connection between two names at one address", async () => {
    const endpoint = await receiver();
    const by = poster(vetting("127.0.0.1"));
    for (const name of ["a.example", "b.example", "a.example"]) await post(by, `http://${name}:${endpoint.port}/`);
    assert.deepEqual(endpoint.requests.map(({ connection }) => connection), [1, 2, 1]);
  });

  test("tries the next address when one refuses, and reports which one it was", async () => {
    const endpoint = await receiver();
    const result = await post(poster(vetting("127.0.0.2", "127.0.0.1")), `http://a.example:${endpoint.port}/`);
    assert.deepEqual([result.statusCode, result.address], [200, "127.0.0.1"]);
  });

  test("returns a 429 with its Retry-After, and any other status", async () => {
    const answers = ["429 Slow", "500 Oops", "404 No", "204 Fine", "299 Odd", "999 What"];
    const endpoint = await receiver(({ head }) =>
      `HTTP/1.1 ${answers[Number(head[6])]}\r\nRetry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\nContent-Length: 0\r\n\r\n`
    );
    const by = poster();
    for (const [index, line] of answers.entries()) {
      const result = await post(by, at(endpoint, `/${index}`));
      assert.equal(result.statusCode, Number(line.slice(0, 3)));
      assert.equal(result.retryAfter, "Wed, 21 Oct 2026 07:28:00 GMT");
      assert.equal(result.error, undefined);
    }
  });

  test("does not follow a redirect", async () => {
    const elsewhere = await receiver();
    for (const status of [301, 302, 303, 307, 308]) {
      const endpoint = await receiver(() =>
        `HTTP/1.1 ${status} Moved\r\nLocation: ${at(elsewhere)}\r\nContent-Length: 0\r\n\r\n`
      );
      assert.equal((await post(poster(), at(endpoint))).statusCode, status);
    }
    assert.equal(elsewhere.connections, 0);
  });

  test("returns the first KiB of an answer, as text that is safe to show", async () => {
    const bodies = ["\x1b[2Jplain\ttext\r\n\u202etxet\u2028", "ü".repeat(600), "x".repeat(5_000), "\xff\xfe"];
    const endpoint = await receiver(({ head }) => {
      const body = bodies[Number(head[6])]!;
      return `HTTP/1.1 200 OK\r\nContent-Length: ${new TextEncoder().encode(body).length}\r\n\r\n${body}`;
    });
    const by = poster();
    const shown: string[] = [];
    for (const index of bodies.keys()) shown.push((await post(by, at(endpoint, `/${index}`))).responseBody);
    assert.deepEqual(shown, ["[2Jplain\ttext\ntxet", "ü".repeat(512), "x".repeat(1_024), "ÿþ"]);
  });
});

describe("a poster", () => {
  test("stops on abort, before and after the request is sent", async () => {
    const endpoint = await receiver(() => {});
    const stopping = new AbortController();
    const posting = post(poster(), at(endpoint), { signal: stopping.signal });
    await until(() => endpoint.requests.length === 1);
    stopping.abort();
    assert.equal((await posting).error, "given up by the gateway");
    assert.equal((await post(poster(), at(endpoint), { signal: stopping.signal })).error, "given up by the gateway");
    const pending: PosterOptions["policy"] = { check: () => new Promise(() => {}) };
    assert.equal((await post(poster(pending), at(endpoint), { timeoutMs: 20 })).error, "timed out after 0.02 s");
    assert.equal(endpoint.requests.length, 1);
  });

  test("ends each post at its own timeout, in any order of their starts", async () => {
    const endpoint = await receiver(() => {});
    const by = poster();
    const stopping = new AbortController();
    let ended = 0;
    const waiting = [60_000, 40, 80, 20].map(async (timeoutMs) => {
      const beganMs = performance.now();
      const { error } = await post(by, at(endpoint), { timeoutMs, signal: stopping.signal });
      // A busy machine may be late for several at once, but is never early.
      if (error!.startsWith("timed out")) assert.ok(performance.now() - beganMs >= timeoutMs - 2, error!);
      if (++ended === 3) stopping.abort();
      return error;
    });
    assert.deepEqual(await Promise.all(waiting), [
      "given up by the gateway",
      "timed out after 0.04 s",
      "timed out after 0.08 s",
      "timed out after 0.02 s",
    ]);
  });

  test("checks its policy at each attempt, and reports why it refuses a target, without a connection", async () => {
    const endpoint = await receiver();
    const answers = [["93.184.216.34", "127.0.0.1"], ["127.0.0.1"], ["::ffff:127.0.0.1"]];
    const by = poster(createTargetPolicy({ resolve: () => Promise.resolve(answers.shift()!) }));
    for (const reason of ["a loopback address", "a loopback address", "an IPv4-mapped address"]) {
      const result = await post(by, `https://hooks.example:${endpoint.port}/`);
      assert.equal(result.error, `url host must be public: hooks.example resolves to ${reason}`);
    }
    assert.equal((await post(by, `http://hooks.example/`)).error, "url must start with https://, got http://");
    assert.equal(endpoint.connections, 0);
  });

  test("does not use an open connection to an address that its host no longer has", async () => {
    const endpoint = await receiver();
    const moved = await receiver(undefined, { address: "127.0.0.2", port: endpoint.port });
    let address = "127.0.0.1";
    const by = poster({ check: (url) => vetting(address).check(url) });
    await post(by, `http://hooks.example:${endpoint.port}/`);
    address = "127.0.0.2";
    await post(by, `http://hooks.example:${endpoint.port}/`);
    assert.deepEqual([endpoint.requests.length, moved.requests.length], [1, 1]);
  });

  test("connects only to an IP address, even if its policy returns a name", async () => {
    const endpoint = await receiver();
    const result = await post(poster(vetting("localhost")), at(endpoint));
    assert.equal(result.error, "not an address to connect to");
    assert.equal(endpoint.connections, 0);
  });

  test("closes idle connections at close, and busy ones after their answer", async () => {
    const held: { answer?: () => void } = {};
    const endpoint = await receiver(({ head }, socket) => {
      if (!head.startsWith("POST /slow")) return OK_ANSWER;
      held.answer = () => void socket.write(OK_ANSWER);
    });
    const by = poster();
    const slow = post(by, at(endpoint, "/slow"));
    await until(() => held.answer !== undefined);
    await post(by, at(endpoint));
    by.close();
    await until(() => endpoint.open.size === 1);
    held.answer!();
    assert.equal((await slow).statusCode, 200);
    await until(() => endpoint.open.size === 0);
  });

  test("keeps at most maxIdle idle connections, and closes the one that is idle longest", async () => {
    const by = poster(LOOPBACK, { maxIdle: 2 });
    const [a, b, c] = [await receiver(), await receiver(), await receiver()];
    for (const endpoint of [a, b, c]) await post(by, at(endpoint));
    await until(() => a.open.size === 0);
    assert.deepEqual([b.open.size, c.open.size], [1, 1]);
  });

  test("closes a connection that is idle for too long", async () => {
    const endpoint = await receiver();
    await post(poster(LOOPBACK, { idleMs: 30 }), at(endpoint));
    await until(() => endpoint.open.size === 0);
  });
});
