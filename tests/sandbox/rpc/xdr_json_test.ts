// needs: once
import { strict as assert } from "node:assert";
import { before, describe, test } from "node:test";
import type { Transaction } from "@stellar/stellar-sdk";
import { Asset, Claimant, Contract, Keypair, Memo, nativeToScVal, Operation, xdr } from "@stellar/stellar-sdk";
import type { SandboxNetwork } from "../../../lib/sandbox/network.ts";
import { altered, pay } from "../envelope_parts.ts";
import { draft, poll, prepared, send } from "./client.ts";
import { sandboxRpcOfFile } from "./sandbox_rpc.ts";

// The expected JSON is the base64 of the same answer, which js-stellar-sdk decodes and writes as SEP-51. The sandbox uses
// another implementation, in the engine.

interface Twin {
  name: string;
  toJson(base64: string): unknown;
}

const twin = (name: string, type: { fromXdr(xdr: string, format: "base64"): { toJson(): unknown } }): Twin => ({
  name,
  toJson: (base64) => type.fromXdr(base64, "base64").toJson(),
});

/** For each method the fields with XDR, and their twins with JSON. */
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

/** The JSON for an answer in base64. `seen` collects the converted fields. */
function expected(value: unknown, twins: Record<string, Twin>, seen: Set<string>): unknown {
  if (Array.isArray(value)) return value.map((each) => expected(each, twins, seen));
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).flatMap(([name, held]) => {
    const field = twins[name];
    if (!field || typeof held !== "string" && !Array.isArray(held)) return [[name, expected(held, twins, seen)]];
    if (held.length === 0) return [[field.name, held]];
    seen.add(name);
    const json = (part: unknown): unknown => Array.isArray(part) ? part.map(json) : field.toJson(part as string);
    // A state change keeps both fields, as null.
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

const prepare = (operation: xdr.Operation) => prepared(sandbox, owner, operation);
const close = async (transaction: Transaction, ...signers: Keypair[]) => {
  const hash = await send(sandbox, transaction, ...signers);
  await poll(sandbox, hash);
  return hash;
};

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
  await close(await prepare(Operation.createStellarAssetContract({ asset })), owner);
  const claimants = [new Claimant(owner.publicKey(), Claimant.predicateNot(Claimant.predicateBeforeRelativeTime("9")))];
  const operations = [
    Operation.changeTrust({ asset: new Asset("USD", other.publicKey()) }),
    Operation.createClaimableBalance({ asset, amount: "1", claimants }),
    Operation.manageData({ name: 'a "quoted" name', value: "value" }),
  ];
  const withMemo = await draft(sandbox, owner, operations, (builder) => builder.addMemo(Memo.text("später")));
  await close(withMemo, owner);
  invocation = await close(await prepare(transfer(5n)), owner);
  // The owner spends its lumens between the simulation and the transaction.
  const late = await prepare(transfer(90_000_000_000n));
  await close(await draft(sandbox, other, pay(other, 90_000_000_000n, owner)), owner, other);
  failed = await close(late, owner);
});

describe('xdrFormat "json" makes SEP-51 JSON of all base64 fields in the answer of', () => {
  for (
    const [method, params] of [
      ["getEvents", () => ({ startLedger: firstLedger })],
      ["getLatestLedger", () => ({})],
      ["getLedgers", () => ({ startLedger: 1 })],
    ] as const
  ) {
    test(method, async () => assert.deepEqual(names(await compare(method, params())), allOf(method)));
  }

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
    const all = await compare("getTransactions", { startLedger: 1 }, "transactions");
    assert.deepEqual(names(all), allOf("transactions"));
  });

  test("sendTransaction", async () => {
    const wrong = await prepare(transfer(5n));
    const envelope = wrong.toEnvelope();
    assert.ok(envelope.type === "envelopeTypeTx" && envelope.v1.tx.ext.type === "sorobanData");
    const poor = new xdr.SorobanTransactionData({ ...envelope.v1.tx.ext.sorobanData, resourceFee: 1n });
    const ext = xdr.TransactionExt.sorobanData(poor);
    const transaction = altered(sandbox.network as SandboxNetwork, wrong, { ext }).toXdr();
    const seen = await compare("sendTransaction", { transaction });
    assert.deepEqual(names(seen), allOf("sendTransaction"));
  });

  test("simulateTransaction", async () => {
    const transaction = (await draft(sandbox, owner, transfer(5n))).toXdr();
    const seen = await compare("simulateTransaction", { transaction });
    assert.deepEqual(names(seen), allOf("simulateTransaction"));
    const refused = (await draft(sandbox, owner, transfer(-5n))).toXdr();
    assert.deepEqual(names(await compare("simulateTransaction", { transaction: refused })), ["events"]);
  });
});
