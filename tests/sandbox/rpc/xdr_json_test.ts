// needs: once
import { strict as assert } from "node:assert";
import { before, describe, test } from "node:test";
import {
  Asset,
  Claimant,
  Contract,
  Keypair,
  Memo,
  nativeToScVal,
  Operation,
  type Transaction,
  TransactionBuilder,
  xdr,
} from "@stellar/stellar-sdk";
import { sandboxRpcOfFile } from "./sandbox_rpc.ts";

// What `xdrFormat: "json"` answers is held against the base64 of the same answer, decoded and written as SEP-51 by
// js-stellar-sdk: another implementation than the one in the engine.

interface Twin {
  name: string;
  toJson(base64: string): unknown;
}

const twin = (name: string, type: { fromXdr(xdr: string, format: "base64"): { toJson(): unknown } }): Twin => ({
  name,
  toJson: (base64) => type.fromXdr(base64, "base64").toJson(),
});

/** Every field that holds XDR, with its twin, by the method that answers it. */
const TWINS: Record<string, Record<string, Twin>> = {
  getEvents: { topic: twin("topicJson", xdr.ScVal), value: twin("valueJson", xdr.ScVal) },
  getLatestLedger: {
    headerXdr: twin("headerJson", xdr.LedgerHeader),
    metadataXdr: twin("metadataJson", xdr.LedgerCloseMeta),
  },
  getLedgers: {
    headerXdr: twin("headerJson", xdr.LedgerHeaderHistoryEntry),
    metadataXdr: twin("metadataJson", xdr.LedgerCloseMeta),
  },
  getLedgerEntries: {
    key: twin("keyJson", xdr.LedgerKey),
    xdr: twin("dataJson", xdr.LedgerEntryData),
    extXdr: twin("extJson", xdr.LedgerEntryExt),
  },
  transactions: {
    envelopeXdr: twin("envelopeJson", xdr.TransactionEnvelope),
    resultXdr: twin("resultJson", xdr.TransactionResult),
    resultMetaXdr: twin("resultMetaJson", xdr.TransactionMeta),
    diagnosticEventsXdr: twin("diagnosticEventsJson", xdr.DiagnosticEvent),
    transactionEventsXdr: twin("transactionEventsJson", xdr.TransactionEvent),
    contractEventsXdr: twin("contractEventsJson", xdr.ContractEvent),
  },
  sendTransaction: {
    errorResultXdr: twin("errorResultJson", xdr.TransactionResult),
    diagnosticEventsXdr: twin("diagnosticEventsJson", xdr.DiagnosticEvent),
  },
  simulateTransaction: {
    transactionData: twin("transactionDataJson", xdr.SorobanTransactionData),
    events: twin("eventsJson", xdr.DiagnosticEvent),
    auth: twin("authJson", xdr.SorobanAuthorizationEntry),
    xdr: twin("returnValueJson", xdr.ScVal),
    key: twin("keyJson", xdr.LedgerKey),
    before: twin("beforeJson", xdr.LedgerEntry),
    after: twin("afterJson", xdr.LedgerEntry),
  },
};

/** An answer in base64 as it has to be in JSON. `seen` collects the fields that were turned. */
function expected(value: unknown, twins: Record<string, Twin>, seen: Set<string>): unknown {
  if (Array.isArray(value)) return value.map((each) => expected(each, twins, seen));
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).flatMap(([name, held]) => {
    const field = twins[name];
    if (!field || typeof held !== "string" && !Array.isArray(held)) return [[name, expected(held, twins, seen)]];
    if (held.length === 0) return [[field.name, held]];
    seen.add(name);
    const json = (part: unknown): unknown => Array.isArray(part) ? part.map(json) : field.toJson(part as string);
    // Of a state change both stay, as null.
    return [...(["before", "after"].includes(name) ? [[name, null]] : []), [field.name, json(held)]];
  });
  return Object.fromEntries(fields);
}

const [owner, other] = [Keypair.random(), Keypair.random()];
const asset = Asset.native();

const sandbox = sandboxRpcOfFile();
let firstLedger: number;
let invocation: string;
let failed: string;

async function compare(method: string, params: object, table: string = method): Promise<Set<string>> {
  const base64 = await sandbox.call(method, params);
  const json = await sandbox.call(method, { ...params, xdrFormat: "json" });
  assert.equal(base64.error, undefined);
  assert.equal(json.error, undefined);
  const seen = new Set<string>();
  assert.deepEqual(json.result, JSON.parse(JSON.stringify(expected(base64.result, TWINS[table]!, seen))));
  return seen;
}

const names = (seen: Set<string>) => [...seen].sort();
const allOf = (table: string) => Object.keys(TWINS[table]!).sort();

async function build(source: Keypair, ...operations: xdr.Operation[]): Promise<TransactionBuilder> {
  const account = await sandbox.rpc.getAccount(source.publicKey());
  const builder = new TransactionBuilder(account, { fee: "1000", networkPassphrase: sandbox.network.passphrase });
  for (const operation of operations) builder.addOperation(operation);
  return builder.setTimeout(60);
}

/** Prepares an operation of the owner's contract call. */
async function prepare(operation: xdr.Operation): Promise<Transaction> {
  return await sandbox.rpc.prepareTransaction((await build(owner, operation)).build());
}

/** Signs, sends and waits; answers the hash. */
async function send(transaction: Transaction, ...signers: Keypair[]): Promise<string> {
  transaction.sign(...signers);
  const sent = await sandbox.rpc.sendTransaction(transaction);
  assert.equal(sent.status, "PENDING");
  await sandbox.rpc.pollTransaction(sent.hash, { sleepStrategy: () => 5 });
  return sent.hash;
}

const transfer = (amount: bigint) =>
  new Contract(asset.contractId(sandbox.network.passphrase)).call(
    "transfer",
    nativeToScVal(owner.publicKey(), { type: "address" }),
    nativeToScVal(asset.contractId(sandbox.network.passphrase), { type: "address" }),
    nativeToScVal(amount, { type: "i128" }),
  );

before(async () => {
  for (const pair of [owner, other]) await sandbox.rpc.requestAirdrop(pair.publicKey());
  firstLedger = sandbox.network.latestLedger().sequence + 1;
  await send(await prepare(Operation.createStellarAssetContract({ asset })), owner);
  const claimants = [new Claimant(owner.publicKey(), Claimant.predicateNot(Claimant.predicateBeforeRelativeTime("9")))];
  const classic = await build(
    owner,
    Operation.changeTrust({ asset: new Asset("USD", other.publicKey()) }),
    Operation.createClaimableBalance({ asset, amount: "1", claimants }),
    Operation.manageData({ name: 'a "quoted" name', value: "value" }),
  );
  await send(classic.addMemo(Memo.text("später")).build(), owner);
  invocation = await send(await prepare(transfer(5n)), owner);
  // Simulated when there was enough; spent before it is applied.
  const late = await prepare(transfer(90_000_000_000n));
  const payment = { destination: other.publicKey(), asset, amount: "9000", source: owner.publicKey() };
  await send((await build(other, Operation.payment(payment))).build(), owner, other);
  failed = await send(late, owner);
});

describe('xdrFormat "json" answers what base64 answers, as SEP-51 JSON under the twins of its fields', () => {
  test("getEvents", async () => {
    assert.deepEqual(names(await compare("getEvents", { startLedger: firstLedger })), allOf("getEvents"));
  });

  test("getLatestLedger", async () => {
    assert.deepEqual(names(await compare("getLatestLedger", {})), allOf("getLatestLedger"));
  });

  test("getLedgers", async () => {
    assert.deepEqual(names(await compare("getLedgers", { startLedger: 1 })), allOf("getLedgers"));
  });

  test("getLedgerEntries", async () => {
    const changes = sandbox.network.transactionsAfter(firstLedger, 0, 10).flatMap(({ resultMetaXdr }) => {
      const meta = xdr.TransactionMeta.fromXdr(resultMetaXdr);
      return meta.type === "v4" ? meta.v4.operations.flatMap((operation) => operation.changes) : [];
    });
    const balance = changes.flatMap((change) => change.type === "ledgerEntryCreated" ? [change.created.data] : [])
      .find((data) => data.type === "claimableBalance");
    assert.ok(balance);
    const accountId = owner.xdrAccountId();
    const keys = [
      xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId })),
      xdr.LedgerKey.claimableBalance(
        new xdr.LedgerKeyClaimableBalance({ balanceId: balance.claimableBalance.balanceId }),
      ),
      xdr.LedgerKey.contractData(
        new xdr.LedgerKeyContractData({
          contract: new Contract(asset.contractId(sandbox.network.passphrase)).address().toScAddress(),
          key: xdr.ScVal.scvLedgerKeyContractInstance(),
          durability: xdr.ContractDataDurability.persistent,
        }),
      ),
    ].map((key) => key.toXdr("base64"));
    assert.deepEqual(names(await compare("getLedgerEntries", { keys })), allOf("getLedgerEntries"));
    const { result } = await sandbox.call("getLedgerEntries", { keys, xdrFormat: "json" });
    assert.equal(result.entries[1].extJson.v1.sponsoring_id, owner.publicKey());
  });

  test("getTransaction and getTransactions", async () => {
    const one = await compare("getTransaction", { hash: invocation }, "transactions");
    assert.deepEqual(names(one), allOf("transactions"));
    await compare("getTransaction", { hash: failed }, "transactions");
    const { result } = await sandbox.call("getTransaction", { hash: failed });
    assert.equal(result.status, "FAILED");
    assert.ok(result.diagnosticEventsXdr.length > 0, "beside the other events, since protocol 23");
    assert.deepEqual(Object.keys(result.events), ["transactionEventsXdr"]);
    await compare("getTransaction", { hash: "00".repeat(32) }, "transactions");
    assert.deepEqual(
      names(await compare("getTransactions", { startLedger: 1 }, "transactions")),
      allOf("transactions"),
    );
  });

  test("sendTransaction", async () => {
    const wrong = await prepare(transfer(5n));
    const envelope = wrong.toEnvelope();
    assert.ok(envelope.type === "envelopeTypeTx");
    const { tx } = envelope.v1;
    assert.ok(tx.ext.type === "sorobanData");
    const poor = new xdr.SorobanTransactionData({ ...tx.ext.sorobanData, resourceFee: 1n });
    const spoilt = new xdr.Transaction({ ...tx, ext: xdr.TransactionExt.sorobanData(poor) });
    const transaction = xdr.TransactionEnvelope.envelopeTypeTx(
      new xdr.TransactionV1Envelope({ tx: spoilt, signatures: [] }),
    )
      .toXdr("base64");
    const seen = await compare("sendTransaction", { transaction });
    assert.deepEqual(names(seen), allOf("sendTransaction"));
  });

  test("simulateTransaction", async () => {
    const transaction = (await build(owner, transfer(5n))).build().toXdr();
    const seen = await compare("simulateTransaction", { transaction });
    assert.deepEqual(names(seen), allOf("simulateTransaction"));
    const refused = (await build(owner, transfer(-5n))).build().toXdr();
    assert.deepEqual(names(await compare("simulateTransaction", { transaction: refused })), ["events"]);
  });
});
