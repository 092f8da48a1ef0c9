// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { answeredWith, deliveryLine, forwardedWith } from "../../cli/delivery_line.ts";
import { stepLine } from "../../cli/trigger.ts";
import type { PublicEvent } from "../../lib/store/event.ts";

const NOW = Date.parse("2026-11-21T12:00:05.000Z");
const TIME = new Date(NOW).toTimeString().slice(0, 8);
const HASH = "9a41".padEnd(60, "0") + "07e2";
const PAID: PublicEvent = {
  id: "0-52000000-17-3-0123456789abcde",
  type: "payment.authorized",
  contractId: "C".padEnd(56, "A"),
  ledger: 52_000_000,
  ledgerClosedAt: "2026-11-21T12:00:00.000Z",
  txHash: HASH,
  deviceHash: HASH,
  agent: "GAGE".padEnd(52, "A") + "TTTT",
  merchant: "GDIY".padEnd(52, "A") + "K4QL",
  amount: "40000000",
};
const { merchant: _m, amount: _a, ...REGISTERED } = { ...PAID, type: "device.registered" };
const { deviceHash: _, agent: __, ...CLAIMED } = { ...PAID, type: "payment.claimed", amount: "9".repeat(39) };

describe("the line of a delivery", () => {
  test("shows the outcome, if it is known", () => {
    const line = (told?: Parameters<typeof deliveryLine>[1]) => deliveryLine(PAID, told, NOW, 150).slice(TIME.length);
    assert.ok(line(forwardedWith(200)).startsWith("  payment.authorized  forwarded, answered 200  ledger"));
    assert.ok(line(forwardedWith(undefined)).startsWith("  payment.authorized  forwarded, no answer  ledger"));
    assert.ok(line().startsWith("  payment.authorized  ledger"));
  });

  test("shows every field where lines have no bound", () => {
    assert.equal(
      deliveryLine(PAID, answeredWith(204), NOW, Infinity),
      `${TIME}  payment.authorized  signature right, answered 204  ledger 52000000  card 9a41…07e2  ` +
        "agent GAGE…TTTT  merchant GDIY…K4QL  amount 40000000\n",
    );
  });

  test("is one line on every terminal, with event, answer and amount on common widths", () => {
    for (const event of [PAID, CLAIMED]) {
      for (let room = 1; room <= 200; room++) {
        const line = deliveryLine(event, answeredWith(503), NOW, room);
        assert.match(line, /^[^\n]+\n$/);
        assert.ok([...line].length - 1 <= room, `${room}: ${line}`);
        if (room >= 28) assert.ok(line.startsWith(`${TIME}  ${event.type}`), line);
        if (room >= 100) assert.ok(line.includes("503") && line.includes(`amount ${event.amount}`), line);
      }
    }
  });

  test("drops the least needed fields first", () => {
    assert.equal(
      deliveryLine(PAID, answeredWith(204), NOW, 100),
      `${TIME}  payment.authorized  signed, 204  ledger 52000000  card 9a41…07e2  amount 40000000\n`,
    );
    assert.equal(
      deliveryLine(REGISTERED, answeredWith(204), NOW, 80),
      `${TIME}  device.registered   signed, 204  card 9a41…07e2  agent GAGE…TTTT\n`,
    );
    assert.equal(
      deliveryLine(PAID, answeredWith(204), NOW, 80),
      `${TIME}  payment.authorized  signed, 204  card 9a41…07e2  amount 40000000\n`,
    );
    assert.equal(deliveryLine(PAID, answeredWith(204), NOW, 45), `${TIME}  payment.authorized  amount 40000000\n`);
  });
});

test("a step of a card's life is one line on every terminal, with the whole hash where it fits", () => {
  const step = { event: "payment.authorized", by: "merchant" } as const;
  const whole = `payment.authorized  signed by the merchant  ledger 7  ${HASH}\n`;
  assert.equal(stepLine(step, 7, HASH, Infinity), whole);
  for (let room = 1; room <= 200; room++) assert.ok([...stepLine(step, 7, HASH, room)].length - 1 <= room);
  for (const room of [80, 100]) assert.match(stepLine(step, 7, HASH, room), /ledger 7 {2}9a41…07e2\n$/);
  assert.equal(stepLine(step, 7, HASH, 120), whole);
});
