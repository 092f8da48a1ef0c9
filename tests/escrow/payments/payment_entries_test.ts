// needs: neutral
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { StoredPayment } from "../../../lib/store/payment.ts";
import { type GatewayView, sandboxOfFile } from "../sandbox.ts";

const CARD = "ab".repeat(32);
const AMOUNT = "5";

const sandbox = sandboxOfFile();
let gateway: GatewayView;
/** The shortest life of a temporary entry, in ledgers. */
let life: number;
/** Entries as the node returned them last. */
const known = new Map<string, { key: string }>();
/** Whether the node lists entries after their end. */
let isListing = false;
/** Two equal payments in slot 1: a claim took the first, then the contract used the slot again. */
let first: StoredPayment;
let second: StoredPayment;

async function fetch(url: string, init: RequestInit): Promise<Response> {
  const { method, params } = JSON.parse(String(init.body));
  const answer = await sandbox.fetch(url, init);
  if (method !== "getLedgerEntries") return answer;
  const body = await answer.json();
  for (const entry of body.result.entries) known.set(entry.key, entry);
  const keys: string[] = isListing ? params.keys : [];
  const gone = keys.filter((key) => !body.result.entries.some((entry: { key: string }) => entry.key === key));
  body.result.entries.push(...gone.flatMap((key) => known.get(key) ?? []));
  return Response.json(body);
}

/** Pays into slot 1. */
async function pay(): Promise<StoredPayment> {
  const { agent, asset, merchant, network } = sandbox;
  sandbox.pass(5);
  const payee = merchant.publicKey();
  const operation = { kind: "authorize", deviceHash: CARD, merchant: payee, asset, amount: AMOUNT } as const;
  const { confirmed: { hash: txHash, ledger } } = await gateway.act(agent, operation);
  return {
    id: txHash,
    state: "pending",
    contractId: sandbox.contracts.paymentEscrow,
    ledger,
    authorizedAt: network.latestLedger().closeTime,
    txHash,
    deviceHash: CARD,
    merchant: payee,
    amount: AMOUNT,
    slot: 1,
    expiresAtLedger: ledger + life - 1,
  };
}

/** The last ledger of the life of each entry, with known slots and without; undefined without an entry. */
async function endsOf(...payments: StoredPayment[]): Promise<(number | undefined)[]> {
  const ends = async (some: StoredPayment[]) => {
    const read = await gateway.escrow.paymentEntries(some);
    const { sequence } = sandbox.network.latestLedger();
    return some.map(({ id }) => {
      assert.equal(read.get(id)!.ledger, sequence);
      return read.get(id)!.endLedger;
    });
  };
  const found = await ends(payments);
  assert.deepEqual(await ends(payments.map(({ slot: _, ...one }) => one)), found, "without slots");
  return found;
}

before(async () => {
  const { owner, agent, asset, merchant } = sandbox;
  gateway = sandbox.gateway({ fetch });
  life = await gateway.escrow.shortestLife();
  await gateway.act(owner, { kind: "registerDevice", deviceHash: CARD, agent: agent.publicKey() });
  await gateway.act(owner, {
    ...{ kind: "registerAgent", deviceHash: CARD, agent: agent.publicKey(), asset, maxAmount: "0" },
  });
  await gateway.act(owner, { kind: "fundEscrow", deviceHash: CARD, asset, amount: "100" });
  first = await pay();
  await gateway.act(merchant, { kind: "claim", asset });
  second = await pay();
});

describe("the entry of a payment", () => {
  test("is not that of a later payment in the same slot with the same card and amount", async () => {
    assert.deepEqual(await endsOf(first, second), [undefined, second.expiresAtLedger]);
  });

  test("comes with 199 others in one call", async () => {
    sandbox.counts.clear();
    const many = Array.from({ length: 201 }, (_, n) => ({ ...second, id: `${n}`, slot: n + 1 }));
    const read = await gateway.escrow.paymentEntries(many);
    assert.equal(sandbox.counts.get("getLedgerEntries"), 2);
    assert.deepEqual([read.size, read.get("0")!.endLedger], [201, second.expiresAtLedger]);
    assert.equal(read.get("200")!.endLedger, undefined);
  });

  test("is gone after its end, also while a node still lists it", async () => {
    sandbox.network.advance({ ledgers: second.expiresAtLedger - sandbox.network.latestLedger().sequence });
    assert.deepEqual(await endsOf(second), [second.expiresAtLedger]);
    sandbox.network.advance({ ledgers: 1 });
    assert.deepEqual(await endsOf(second), [undefined]);
    isListing = true;
    assert.deepEqual(await endsOf(second), [undefined]);
  });
});
