// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createGatewayClient } from "../../lib/client/client.ts";
import { type Ask, newCard, owner, stage, stageOfFile } from "./client_stage.ts";

stageOfFile();

test("a write is not confirmed by what else answers its submit with 200", async () => {
  const others = [
    () => Response.json({ status: "ok" }),
    () => Response.json({ hash: "ab".repeat(32), ledger: 7 }),
  ];
  for (const [at, other] of others.entries()) {
    let submits = 0;
    const fetch: Ask = async (url, init) => {
      return url.includes("/submit") && ++submits === 1 ? other() : await stage.ask(url, init);
    };
    const operation = await newCard(`answered by somebody else ${at}`);
    const written = await stage.client({ fetch }).write(operation, owner);
    assert.ok(written.ok && written.ledger > 0, JSON.stringify(written));
    assert.equal(submits, 2);
  }
});

test("a write has not failed because something else answers what became of it", async () => {
  for (const [at, other] of [{}, { status: "failed", hash: "ab".repeat(32) }].entries()) {
    let isLost = false;
    let isAsked = false;
    const fetch: Ask = async (url, init) => {
      if (/transactions\/[0-9a-f]{64}$/.test(url) && !isAsked) return isAsked = true, Response.json(other);
      const response = await stage.ask(url, init);
      if (!url.includes("/submit") || isLost) return response;
      isLost = true;
      throw new TypeError("the connection was cut");
    };
    const written = await stage.client({ fetch }).write(await newCard(`asked somebody else ${at}`), owner);
    assert.ok(isLost && isAsked && written.ok, JSON.stringify(written));
  }
});

test("a write names its intent also where a page is not secure, and has no randomUUID", async () => {
  const { randomUUID } = crypto;
  crypto.randomUUID = undefined as never;
  try {
    const written = await stage.client().write(await newCard("over plain HTTP"), owner);
    assert.ok(written.ok, JSON.stringify(written));
    assert.match(written.idempotencyKey, /^[0-9a-f]{32}$/);
  } finally {
    crypto.randomUUID = randomUUID;
  }
});

test("a feed ends where what answers its stream is no gateway", async () => {
  for (
    const [status, type] of [[200, "text/html; charset=utf-8"], [200, "application/json"], [204, undefined]] as const
  ) {
    let asked = 0;
    const gateway = createGatewayClient({
      baseUrl: "http://gateway.test",
      fetch: () => {
        assert.equal(++asked, 1, "it asks again");
        const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
        return Promise.resolve(new Response(status === 204 ? null : "<h1>Shop</h1>", { status, headers }));
      },
    });
    const read = Array.fromAsync(gateway.events({ maxAwayMs: 100 }));
    const error = await read.then(() => assert.fail("it went on"), (error) => error);
    assert.deepEqual([error.name, error.failure?.reason], ["FeedError", "not_a_gateway"]);
  }
});
