import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createNonces } from "../../../lib/escrow/operations/nonces.ts";

function nonces(used: Map<string, bigint> = new Map()) {
  let nowMs = 0;
  const parts = createNonces({
    lastUsed: (deviceHash, agent) => Promise.resolve(used.get(`${deviceHash} ${agent}`)),
    now: () => nowMs,
    validForMs: 300_000,
  });
  return { next: parts.next, used, pass: (ms: number) => void (nowMs += ms) };
}

describe("nonces", () => {
  test("begin at 1, and go on from what the contract has seen", async () => {
    const { next, used } = nonces();
    assert.equal((await next("card", "agent")).nonce, "1");
    used.set("card agent", 41n);
    assert.equal((await next("card", "agent")).nonce, "42");
  });

  test("are not handed out twice while they may still be used", async () => {
    const { next } = nonces();
    const all = await Promise.all(Array.from({ length: 50 }, () => next("card", "agent")));
    assert.equal(new Set(all.map(({ nonce }) => nonce)).size, 50);
  });

  test("are each agent's and each device's own", async () => {
    const { next } = nonces();
    await next("card", "agent");
    assert.equal((await next("card", "another")).nonce, "1");
    assert.equal((await next("second", "agent")).nonce, "1");
  });

  test("are handed out again once no transaction with them can be applied any more", async () => {
    const { next, pass } = nonces();
    await next("card", "agent");
    pass(300_000);
    assert.equal((await next("card", "agent")).nonce, "2");
    pass(300_001);
    assert.equal((await next("card", "agent")).nonce, "1");
  });

  test("can be given back by whoever got the last one", async () => {
    const { next } = nonces();
    const first = await next("card", "agent");
    first.giveBack();
    const second = await next("card", "agent");
    assert.equal(second.nonce, "1");
    const third = await next("card", "agent");
    second.giveBack();
    assert.equal((await next("card", "agent")).nonce, "3");
    third.giveBack();
    assert.equal((await next("card", "agent")).nonce, "4");
  });

  test("end where the contract's u64 ends", async () => {
    const { next } = nonces(new Map([["card agent", 18446744073709551615n]]));
    assert.equal((await next("card", "agent")).nonce, "18446744073709551615");
  });
});
