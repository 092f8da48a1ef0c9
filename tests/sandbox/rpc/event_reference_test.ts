// needs: once
import { strict as assert } from "node:assert";
import { before, describe, test } from "node:test";
import fc from "fast-check";
import { Asset, Claimant, Keypair, Operation, StrKey, xdr } from "@stellar/stellar-sdk";
import { draft, prepared, send } from "./client.ts";
import { sandboxRpcOfFile } from "./sandbox_rpc.ts";
import { forTier } from "../../tier.ts";

// A reference implementation, written from the documentation of getEvents. It reads events from the ledgers' metadata, makes
// ids by SEP-35, and a topic filter is a regular expression over the base64 of the topics.

interface ReferenceEvent {
  id: string;
  type: string;
  contractId: string;
  /** Base64, joined by blanks. */
  topics: string;
  value: string;
  txHash: string;
  transactionIndex: number;
  operationIndex: number;
}

interface Filter {
  type?: string;
  contractIds?: string[];
  topics?: string[][];
}

const LAST_TRANSACTION = 2 ** 20 - 1;

function idOf(ledger: number, transaction: number, operation: number, index: number): string {
  const toid = (BigInt(ledger) << 32n) + (BigInt(transaction) << 12n) + BigInt(operation);
  return `${String(toid).padStart(19, "0")}-${String(index).padStart(10, "0")}`;
}

interface Place {
  ledger: number;
  transaction: number;
  operation: number;
  index: number;
}

function referenceEvent(at: Place, txHash: string, event: xdr.ContractEvent): ReferenceEvent {
  return {
    id: idOf(at.ledger, at.transaction, at.operation, at.index),
    txHash,
    transactionIndex: at.transaction,
    operationIndex: at.operation,
    type: event.type.name,
    contractId: event.contractId ? StrKey.encodeContract(event.contractId.value) : "",
    topics: event.body.v0.topics.map((topic) => topic.toXdr("base64")).join(" "),
    value: event.body.v0.data.toXdr("base64"),
  };
}

/** All events of a ledger: fees before all transactions, events of operations, refunds after all transactions. */
function eventsOf(ledger: number, metadata: string): ReferenceEvent[] {
  const meta = xdr.LedgerCloseMeta.fromXdr(metadata, "base64");
  assert.ok(meta.type === "v2");
  const [fees, published, refunds]: ReferenceEvent[][] = [[], [], []];
  for (const [at, { txApplyProcessing, result }] of meta.v2.txProcessing.entries()) {
    assert.ok(txApplyProcessing.type === "v4");
    const txHash = result.transactionHash.toString();
    const { events, operations } = txApplyProcessing.v4;
    for (const { stage, event } of events) {
      const isRefund = stage.name === "transactionEventStageAfterAllTxs";
      const [list, transaction] = isRefund ? [refunds!, LAST_TRANSACTION] : [fees!, 0];
      list.push(referenceEvent({ ledger, transaction, operation: 0, index: list.length }, txHash, event));
    }
    for (const [operation, of] of operations.entries()) {
      for (const [index, event] of of.events.entries()) {
        published!.push(referenceEvent({ ledger, transaction: at + 1, operation, index }, txHash, event));
      }
    }
  }
  return [...fees!, ...published!, ...refunds!];
}

/** `*` matches one topic, `**` at the end any number of topics. */
function topicPattern(segments: string[]): RegExp {
  const parts = segments.map((segment, i) => {
    const blank = i === 0 ? "" : " ";
    if (segment === "**") return i === 0 ? "(\\S+( \\S+)*)?" : "( \\S+)*";
    return blank + (segment === "*" ? "\\S+" : segment.replace(/[+/]/g, "\\$&"));
  });
  return new RegExp(`^${parts.join("")}$`);
}

const isAny = <T>(list: T[] | undefined, holds: (each: T) => boolean) => !list?.length || list.some(holds);

function matches(filters: Filter[], event: ReferenceEvent): boolean {
  return isAny(filters, ({ type, contractIds, topics }) =>
    isAny(type?.split(","), (each) => each === event.type) &&
    isAny(contractIds, (each) => each === event.contractId) &&
    isAny(topics, (each) => topicPattern(each).test(event.topics)));
}

const [issuer, alice, bob, deployer] = [1, 2, 3, 4].map(() => Keypair.random()) as [Keypair, Keypair, Keypair, Keypair];
const usd = new Asset("USD", issuer.publicKey());
const EUROS = new Asset("EUROS", issuer.publicKey());

const sandbox = sandboxRpcOfFile({ schedule: () => () => {} });
let reference: ReferenceEvent[];
let firstLedger: number;

const submit = async (source: Keypair, operations: xdr.Operation[], ...others: Keypair[]) =>
  await send(sandbox, await draft(sandbox, source, operations), source, ...others);

/** A Soroban transaction. The network refunds a part of its fee, with an event. */
const deploy = async (asset: Asset) =>
  await send(sandbox, await prepared(sandbox, deployer, Operation.createStellarAssetContract({ asset })), deployer);

before(async () => {
  const funded = [issuer, alice, bob, deployer].map((pair) => sandbox.rpc.requestAirdrop(pair.publicKey()));
  const closing = setInterval(() => sandbox.network.closeLedger(), 5);
  await Promise.all(funded);
  clearInterval(closing);
  firstLedger = sandbox.network.latestLedger().sequence;
  const by = (holder: Keypair) => ({ source: holder.publicKey() });
  const holders = [alice, bob];
  await submit(
    issuer,
    [usd, EUROS].flatMap((asset) =>
      holders.flatMap((holder) => [
        Operation.changeTrust({ asset, ...by(holder) }),
        Operation.payment({ asset, amount: "100", destination: holder.publicKey() }),
      ])
    ),
    ...holders,
  );
  sandbox.network.closeLedger();
  // Several ledgers with several transactions each.
  for (let round = 1; round <= 3; round++) {
    const pay = (asset: Asset, to: Keypair) =>
      Operation.payment({ asset, amount: String(round), destination: to.publicKey() });
    await submit(alice, [pay(usd, bob), pay(Asset.native(), bob), pay(usd, issuer)]);
    await submit(bob, [pay(EUROS, alice)]);
    await submit(issuer, [
      Operation.createClaimableBalance({ asset: usd, amount: "1", claimants: [new Claimant(bob.publicKey())] }),
    ]);
    const deployed = round === 1 ? usd : round === 2 ? EUROS : Asset.native();
    await deploy(deployed);
    sandbox.network.closeLedger();
  }
  const { ledgers } = await sandbox.rpc._getLedgers({ startLedger: firstLedger, pagination: { limit: 100 } });
  reference = ledgers.flatMap(({ sequence, metadataXdr }) => eventsOf(sequence, metadataXdr!));
});

/** Reads pages as a client does: until a page has fewer events than its limit. */
async function read(filters: Filter[], limit: number, endLedger?: number): Promise<ReferenceEvent[]> {
  const found: ReferenceEvent[] = [];
  let range: object = { startLedger: firstLedger, ...(endLedger && { endLedger }) };
  while (true) {
    const pagination = { limit, ..."cursor" in range && range };
    const params = { filters, ..."cursor" in range ? {} : range, pagination };
    const { result, error } = await sandbox.call("getEvents", params);
    assert.equal(error, undefined);
    for (const { topic = [], id, type, contractId, value, txHash, transactionIndex, operationIndex } of result.events) {
      found.push({ id, type, contractId, topics: topic.join(" "), value, txHash, transactionIndex, operationIndex });
    }
    if (result.events.length < limit || endLedger) return found;
    range = { cursor: result.cursor };
  }
}

describe("getEvents returns the reference's events", () => {
  test("without a filter", async () => {
    assert.ok(reference.length > 30);
    const kinds = new Set(reference.map(({ topics }) => topics.split(" ").length));
    assert.deepEqual([...kinds].sort(), [2, 3, 4]);
    assert.ok(reference.some(({ id }) => id.startsWith(idOf(firstLedger + 2, LAST_TRANSACTION, 0, 0).slice(0, 19))));
    assert.deepEqual(await read([], 7), reference);
  });

  test("for random filters and page sizes", { timeout: 60_000 }, async () => {
    const words = [...new Set(reference.flatMap(({ topics }) => topics.split(" ")))];
    const contracts = [...new Set(reference.map(({ contractId }) => contractId))];
    const segment = fc.oneof({ weight: 2, arbitrary: fc.constant("*") }, fc.constantFrom(...words));
    const taken = fc.constantFrom(...reference).chain(({ topics }) => {
      const own = topics.split(" ");
      return fc.tuple(...own.map((word) => fc.constantFrom(word, "*")));
    });
    const open = (segments: string[]) =>
      fc.constantFrom(segments, [...segments.slice(0, 3), "**"], [...segments, "**"].slice(-1));
    const topic = fc.oneof(fc.array(segment, { minLength: 1, maxLength: 4 }), taken).chain(open);
    const filter = fc.record({
      type: fc.constantFrom("contract", "system", "system,contract"),
      contractIds: fc.subarray(contracts),
      topics: fc.array(topic, { maxLength: 3 }),
    }, { requiredKeys: [] });
    let matched = 0;
    const numRuns = forTier({ test: 100, all: 400 });
    await fc.assert(
      fc.asyncProperty(fc.array(filter, { maxLength: 3 }), fc.integer({ min: 1, max: 50 }), async (filters, limit) => {
        const expected = reference.filter((event) => matches(filters, event));
        if (expected.length > 0 && expected.length < reference.length) matched++;
        assert.deepEqual(await read(filters, limit), expected);
      }),
      { numRuns },
    );
    assert.ok(matched > numRuns / 20, "enough filters matched a part of the events");
  });

  test("for ranges of ledgers, without the end ledger", async () => {
    const { sequence: latest } = sandbox.network.latestLedger();
    for (let end = firstLedger + 1; end <= latest + 1; end++) {
      const before = idOf(end, 0, 0, 0);
      assert.deepEqual(await read([], 1_000, end), reference.filter(({ id }) => id < before));
    }
  });
});
