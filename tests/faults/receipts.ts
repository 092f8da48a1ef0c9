import assert from "node:assert/strict";
import type { Happening } from "./card_traffic.ts";
import { hears, type Listener } from "./listener.ts";
import type { Receipt } from "./moody_receiver.ts";

/** No listener got an event that its filter excludes, and all listeners got the same body for an event. */
export function assertReceipts(
  { happenings, listeners, receipts }: { happenings: Happening[]; listeners: Listener[]; receipts: Receipt[] },
): void {
  for (const listener of listeners) {
    const heard = new Set(happenings.filter((one) => hears(listener, one)).map(({ txHash }) => txHash));
    const wrong = receipts.filter(({ listener: name, event }) => name === listener.name && !heard.has(event.txHash));
    assertNone(wrong, `were not for ${listener.name}`);
  }
  assertSameIds(receipts);
  const types = new Map(happenings.map(({ txHash, type }) => [txHash, type]));
  assert.ok(receipts.every(({ event }) => event.type === types.get(event.txHash)));
}

/** Shows a few only: there may be hundreds. */
export function assertNone(found: unknown[], what: string): void {
  assert.equal(found.length, 0, `${found.length} events ${what}, the first: ${JSON.stringify(found[0])}`);
}

/** An event has the same id in every delivery, and no other event has this id. */
function assertSameIds(receipts: Receipt[]): void {
  const idOf = new Map<string, string>();
  for (const { eventId, event } of receipts) {
    assert.equal(eventId, event.id);
    assert.equal(idOf.get(event.txHash) ?? eventId, eventId);
    idOf.set(event.txHash, eventId);
  }
  assert.equal(new Set(idOf.values()).size, idOf.size);
}
