// needs: once
import { strict as assert } from "node:assert";
import { before, describe, test } from "node:test";
import fc from "fast-check";
import { Asset, Claimant, Keypair, Operation, StrKey, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import { sandboxRpcOfFile } from "./sandbox_rpc.ts";
import { forTier } from "../../tier.ts";

// getEvents against a reference written from its documentation: events are read out of the ledgers' own metadata, ids are
// made by SEP-35, and a topic filter is a regular expression over the topics' base64.

interface ReferenceEvent {
  id: string;
  type: string;
  contractId: string;
  /** Base64, joined by blanks. */
  topics: string;
  value: string;
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

function referenceEvent(id: string, event: xdr.ContractEvent): ReferenceEvent {
  return {
    id,
    type: event.type.name,
    contractId: event.contractId ? StrKey.encodeContract(event.contractId.value) : "",
    topics: event.body.v0.topics.map((topic) => topic.toXdr("base64")).join(" "),
    value: event.body.v0.data.toXdr("base64"),
  };
}

/** All events of a ledger: fees before every transaction, what operations published, refunds after every transaction. */
function eventsOf(ledger: number, metadata: string): ReferenceEvent[] {
  const meta = xdr.LedgerCloseMeta.fromXdr(metadata, "base64");
  assert.ok(meta.type === "v2");
  const [fees, published, refunds]: ReferenceEvent[][] = [[], [], []];
  for (const [at, { txApplyProcessing }] of meta.v2.txProcessing.entries()) {
    assert.ok(txApplyProcessing.type === "v4");
    const { events, operations } = txApplyProcessing.v4;
    for (const { stage, event } of events) {
      const isRefund = stage.name === "transactionEventStageAfterAllTxs";
      const [list, place] = isRefund ? [refunds!, LAST_TRANSACTION] : [fees!, 0];
      list.push(referenceEvent(idOf(ledger, place, 0, list.length), event));
    }
    for (const [operation, of] of operations.entries()) {
      for (const [index, event] of of.events.entries()) {
        published!.push(referenceEvent(idOf(ledger, at + 1, operation, index), event));
      }
    }
  }
  return [...fees!, ...published!, ...refunds!];
}

/** `*` is one topic, `**` at the end any number of them. */
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

async function send(source: Keypair, operations: xdr.Operation[], ...others: Keypair[]): Promise<void> {
  const account = await sandbox.rpc.getAccount(source.publicKey());
  const builder = new TransactionBuilder(account, { fee: "1000", networkPassphrase: sandbox.network.passphrase });
  for (const operation of operations) builder.addOperation(operation);
  const transaction = builder.setTimeout(60).build();
  transaction.sign(source, ...others);
  const sent = await sandbox.rpc.sendTransaction(transaction);
  assert.equal(sent.status, "PENDING");
}

/** A Soroban transaction, which has a part of its fee back: that is an event, too. */
async function deploy(asset: Asset): Promise<void> {
  const account = await sandbox.rpc.getAccount(deployer.publicKey());
  const draft = new TransactionBuilder(account, { fee: "1000", networkPassphrase: sandbox.network.passphrase })
    .addOperation(Operation.createStellarAssetContract({ asset })).setTimeout(60).build();
  const transaction = await sandbox.rpc.prepareTransaction(draft);
  transaction.sign(deployer);
  assert.equal((await sandbox.rpc.sendTransaction(transaction)).status, "PENDING");
}

before(async () => {
  const funded = [issuer, alice, bob, deployer].map((pair) => sandbox.rpc.requestAirdrop(pair.publicKey()));
  const closing = setInterval(() => sandbox.network.closeLedger(), 5);
  await Promise.all(funded);
  clearInterval(closing);
  firstLedger = sandbox.network.latestLedger().sequence;
  const by = (holder: Keypair) => ({ source: holder.publicKey() });
  const holders = [alice, bob];
  await send(
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
  // Several transactions a ledger, several ledgers.
  for (let round = 1; round <= 3; round++) {
    const pay = (asset: Asset, to: Keypair) =>
      Operation.payment({ asset, amount: String(round), destination: to.publicKey() });
    await send(alice, [pay(usd, bob), pay(Asset.native(), bob), pay(usd, issuer)]);
    await send(bob, [pay(EUROS, alice)]);
    await send(issuer, [
      Operation.createClaimableBalance({ asset: usd, amount: "1", claimants: [new Claimant(bob.publicKey())] }),
    ]);
    const deployed = round === 1 ? usd : round === 2 ? EUROS : Asset.native();
    await deploy(deployed);
    sandbox.network.closeLedger();
  }
  const { ledgers } = await sandbox.rpc._getLedgers({ startLedger: firstLedger, pagination: { limit: 100 } });
  reference = ledgers.flatMap(({ sequence, metadataXdr }) => eventsOf(sequence, metadataXdr!));
});

/** All pages of a request, as a client reads them: until a page is short of its limit. */
async function read(filters: Filter[], limit: number, endLedger?: number): Promise<ReferenceEvent[]> {
  const found: ReferenceEvent[] = [];
  let range: object = { startLedger: firstLedger, ...(endLedger && { endLedger }) };
  while (true) {
    const pagination = { limit, ..."cursor" in range && range };
    const { result, error } = await sandbox.call("getEvents", {
      filters,
      ..."cursor" in range ? {} : range,
      pagination,
    });
    assert.equal(error, undefined);
    for (const { id, type, contractId, topic = [], value } of result.events) {
      found.push({ id, type, contractId, topics: topic.join(" "), value });
    }
    if (result.events.length < limit || endLedger) return found;
    range = { cursor: result.cursor };
  }
}

describe("getEvents agrees with the reference", () => {
  test("on all events there are", async () => {
    assert.ok(reference.length > 30);
    const kinds = new Set(reference.map(({ topics }) => topics.split(" ").length));
    assert.deepEqual([...kinds].sort(), [2, 3, 4]);
    assert.ok(reference.some(({ id }) => id.startsWith(idOf(firstLedger + 2, LAST_TRANSACTION, 0, 0).slice(0, 19))));
    assert.deepEqual(await read([], 7), reference);
  });

  test("whatever the filters and the size of the pages", { timeout: 60_000 }, async () => {
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
    assert.ok(matched > numRuns / 20, "filters that let a part through were among them");
  });

  test("on ranges of ledgers, whose end is not in them", async () => {
    const { sequence: latest } = sandbox.network.latestLedger();
    for (let end = firstLedger + 1; end <= latest + 1; end++) {
      const before = idOf(end, 0, 0, 0);
      assert.deepEqual(await read([], 1_000, end), reference.filter(({ id }) => id < before));
    }
  });
});
