// needs: neutral
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { xdr } from "@stellar/stellar-sdk/base";
import { movedAsset } from "../../../lib/escrow/assets/moved_asset.ts";
import { decodeEvent } from "../../../lib/escrow/events.ts";
import { paymentFacts } from "../../../lib/escrow/payments/payment_facts.ts";
import type { AppliedTransaction } from "../../../lib/stellar/rpc/schemas.ts";
import { formatEventId, type NewEvent, parseEventId, publicEvent } from "../../../lib/store/event.ts";
import { unixSeconds } from "../../../lib/store/codec.ts";
import { sandboxOfFile } from "../sandbox.ts";

const CARD = "ab".repeat(32);

const sandbox = sandboxOfFile();
/** The shortest life of a temporary entry, in ledgers. */
let life: number;
const made: { event: NewEvent; transaction: AppliedTransaction }[] = [];

before(async () => {
  const gateway = sandbox.gateway();
  const { owner, agent, merchant, asset, contracts, network } = sandbox;
  let from = network.latestLedger().sequence + 1;
  const [deviceHash, by, payee] = [CARD, agent.publicKey(), merchant.publicKey()];
  async function read() {
    const { events } = await gateway.rpc.getEvents({
      startLedger: from,
      contractIds: Object.values(contracts),
      limit: 100,
    });
    const cursor = String(BigInt(from) << 32n);
    const { transactions } = await gateway.rpc.getTransactions({ cursor, limit: 200 });
    for (const raw of events) {
      const event = { ...raw, ...decodeEvent(raw, contracts)!, knownAt: 0 };
      const transaction = transactions.find(({ txHash }) => txHash === raw.txHash)!;
      if (event.type.startsWith("payment.")) made.push({ event, transaction });
    }
    from = network.latestLedger().sequence + 1;
  }
  const authorize = (amount: string) =>
    gateway.act(agent, { kind: "authorize", deviceHash, merchant: payee, asset, amount });
  await gateway.act(owner, { kind: "registerDevice", deviceHash, agent: by });
  await gateway.act(owner, { kind: "registerAgent", deviceHash, agent: by, asset, maxAmount: "0" });
  await gateway.act(owner, { kind: "fundEscrow", deviceHash, asset, amount: "100" });
  await authorize("1");
  await authorize("2");
  life = await gateway.escrow.shortestLife();
  await read();
  network.advance({ ledgers: life + 1, keepTime: true });
  from += life + 1;
  await authorize("4");
  await gateway.act(merchant, { kind: "claim", asset });
  await authorize("8");
  await read();
});

const factsOf = (change = (transaction: AppliedTransaction) => transaction) =>
  made.map(({ event, transaction }) => paymentFacts(event, change(transaction), sandbox.contracts));

/** The new entries of slots. */
function slotEntries({ resultMetaXdr }: AppliedTransaction): xdr.LedgerEntry[] {
  return changesOf(resultMetaXdr!).changes.flatMap((change) =>
    change.type === "ledgerEntryCreated" && change.created.data.type === "contractData" &&
      change.created.data.contractData.durability.name === "temporary" &&
      change.created.data.contractData.key.type === "scvVec"
      ? [change.created]
      : []
  );
}

function changesOf(metaXdr: string) {
  const meta = xdr.TransactionMeta.fromXdr(metaXdr, "base64");
  assert.ok(meta.type === "v4");
  return { meta, changes: meta.v4.operations[0]!.changes };
}

function withChanges(transaction: AppliedTransaction, more: xdr.LedgerEntryChange[]): AppliedTransaction {
  const { meta, changes } = changesOf(transaction.resultMetaXdr!);
  changes.push(...more);
  return { ...transaction, resultMetaXdr: meta.toXdr("base64") };
}

describe("the facts of a payment", () => {
  test("are its agent, its slot and its end; those of a claim are the living entries that it took", () => {
    const agent = sandbox.agent.publicKey();
    const [first, second, third, , last] = made.map(({ event }) => event);
    const payment = ({ ledger }: NewEvent, slot: number) => ({ agent, slot, endLedger: ledger + life - 1 });
    assert.deepEqual(factsOf(), [
      payment(first!, 1),
      payment(second!, 2),
      payment(third!, 3),
      { taken: [{ slot: 3, at: unixSeconds(third!.ledgerClosedAt) }] },
      payment(last!, 1),
    ]);
  });

  test("are without slots when the node sends no metadata", () => {
    const agent = { agent: sandbox.agent.publicKey() };
    const without = factsOf((transaction) => ({ ...transaction, resultMetaXdr: undefined }));
    assert.deepEqual(without, [agent, agent, agent, undefined, agent]);
  });

  test("pass over slots that the transaction names and leaves alone", () => {
    const [, second, third, claim] = made as [...typeof made, never];
    const [before] = slotEntries(second!.transaction);
    const { LedgerEntryChange } = xdr;
    const moved = new xdr.LedgerEntry({ ...before!, lastModifiedLedgerSeq: third!.event.ledger });
    const named = [LedgerEntryChange.ledgerEntryState(before!), LedgerEntryChange.ledgerEntryUpdated(moved)];
    const facts = ({ event, transaction }: typeof made[number]) =>
      paymentFacts(event, withChanges(transaction, named), sandbox.contracts);
    assert.equal(facts(third!)?.slot, 3);
    assert.deepEqual(facts(claim!)?.taken?.map(({ slot }) => slot), [3]);
  });

  test("of a claim have the entries that its transaction overwrote", () => {
    const [first, second, , claim] = made as [...typeof made, never];
    const [[before], [other]] = [slotEntries(first!.transaction), slotEntries(second!.transaction)];
    const { LedgerEntryChange, LedgerEntryData } = xdr;
    assert.ok(before?.data.type === "contractData" && other?.data.type === "contractData");
    // In the slot of the first payment, the second one.
    const { val } = other.data.contractData;
    const data = LedgerEntryData.contractData(new xdr.ContractDataEntry({ ...before.data.contractData, val }));
    const after = new xdr.LedgerEntry({ ...before, data });
    const overwritten = [LedgerEntryChange.ledgerEntryState(before), LedgerEntryChange.ledgerEntryUpdated(after)];
    const { event, transaction } = claim!;
    const facts = paymentFacts(event, withChanges(transaction, overwritten), sandbox.contracts);
    assert.deepEqual(facts?.taken, [
      { slot: 1, at: unixSeconds(first!.event.ledgerClosedAt) },
      { slot: 3, at: unixSeconds(made[2]!.event.ledgerClosedAt) },
    ]);
  });

  test("have the slot of what one transaction authorised after its claim, and none of what that claim took", () => {
    const [first, second, , claim] = made as [...typeof made, never];
    const eventsOf = ({ transaction: { events } }: typeof made[number]) => events!.contractEventsXdr!.flat();
    const inOrder = [first!, claim!, second!];
    const transaction = { ...second!.transaction, events: { contractEventsXdr: [inOrder.flatMap(eventsOf)] } };
    const slots = inOrder.map(({ event }, n) => {
      const before = inOrder.slice(0, n).flatMap(eventsOf).length;
      const { index, ...place } = parseEventId(event.id)!;
      const id = formatEventId({ ...place, index: before + index });
      return paymentFacts({ ...event, id }, transaction, sandbox.contracts)?.slot;
    });
    assert.deepEqual(slots, [undefined, undefined, 2]);
  });

  test("stay unknown for invalid XDR and for other events", () => {
    const [{ event, transaction }] = made as [typeof made[number]];
    const { contracts } = sandbox;
    assert.equal(paymentFacts({ ...event, type: "escrow.funded" }, transaction, contracts), undefined);
    const invalid = { ...transaction, resultMetaXdr: "AAAA", envelopeXdr: "AAAA", diagnosticEventsXdr: ["AAAA"] };
    assert.equal(paymentFacts(event, invalid, contracts), undefined);
    assert.equal(movedAsset(event, invalid, contracts), undefined);
  });

  test("are no part of the public event", () => {
    const [{ event }] = made as [typeof made[number]];
    const shown = publicEvent({ ...event, payment: { slot: 1 } } as NewEvent);
    assert.ok(!("payment" in shown));
  });
});
