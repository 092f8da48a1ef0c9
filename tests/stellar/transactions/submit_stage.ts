import {
  Account,
  Address,
  Keypair,
  nativeToScVal,
  Operation,
  SorobanDataBuilder,
  TransactionBuilder,
  xdr,
} from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { GatewayError } from "../../../lib/errors.ts";
import { createEntryReader } from "../../../lib/stellar/entries.ts";
import { accountKey } from "../../../lib/stellar/transactions/prepare.ts";
import type { RpcClient } from "../../../lib/stellar/rpc/client.ts";
import type { SendAnswer, TransactionAnswer } from "../../../lib/stellar/rpc/schemas.ts";
import { createHead } from "../../../lib/stellar/head.ts";
import { createTransactions } from "../../../lib/stellar/transactions/transactions.ts";
import { operationDigest } from "../../../lib/escrow/operations/operations.ts";
import { accountEntry } from "../account_entry.ts";
import { memoryJournal } from "./memory_submission_log.ts";
import { fakeClock, stubRpc } from "../rpc/stub_rpc.ts";

export const PASSPHRASE = "Test SDF Network ; September 2015";
export const CONTRACT = "CA5S4S7QGHJHJWVJBYL3CXZXZTNGKXMNZVDAEQNN7NUXFP4D7BYK7HIX";
export const START_SECONDS = 1_800_000_000;
export const source = Keypair.fromRawEd25519Seed(new Uint8Array(32).fill(7));

interface EnvelopeOptions {
  validForSeconds?: number;
  sequence?: string;
  function?: string;
  signers?: Keypair[];
}

/** A claim of the source, signed. */
export function transaction(options: EnvelopeOptions = {}) {
  const { validForSeconds = 300, sequence = "41", signers = [source] } = options;
  const built = new TransactionBuilder(new Account(source.publicKey(), sequence), {
    fee: "100",
    networkPassphrase: PASSPHRASE,
    timebounds: { minTime: 0, maxTime: START_SECONDS + validForSeconds },
  }).addOperation(Operation.invokeContractFunction({
    contract: CONTRACT,
    function: options.function ?? "claim",
    args: [Address.fromString(CONTRACT).toScVal(), nativeToScVal(1n, { type: "u64" })],
  })).setSorobanData(new SorobanDataBuilder().build()).build();
  if (signers.length > 0) built.sign(...signers);
  return built;
}

export const hex = (bytes: Uint8Array) => xdr.encodeBytes(bytes, "hex");
export const ENVELOPE = transaction().toXdr();
export const HASH = hex(transaction().hash());

/**
 * Transactions in front of a node of which a ledger closes every five seconds; `send` and `find` say what it answers,
 * call by call.
 */
export function submitStage(script: {
  send?: (call: number) => Partial<SendAnswer> | Error;
  find?: (call: number, ledger: number, hash: string) => Partial<TransactionAnswer> | Error;
  /** 41 when absent; undefined: there is no such account. */
  accountSequence?: (ledger: number) => bigint | undefined;
  note?: () => Promise<void>;
  guard?: () => Promise<void>;
  /** How long ago the newest ledger that was stored has closed; 5 when absent. */
  storedSecondsAgo?: number;
}) {
  const clock = fakeClock(START_SECONDS * 1000);
  const stored = { sequence: 99, closeTime: START_SECONDS - (script.storedSecondsAgo ?? 5) };
  const head = createHead({ clock, stored, ask: () => rpc.getLatestLedger() });
  const closeTime = () => START_SECONDS + Math.floor(clock.monotonicMs() / 5_000) * 5;
  const ledger = () => 100 + (closeTime() - START_SECONDS) / 5;
  const stamp = () => ({ latestLedger: ledger(), latestLedgerCloseTime: closeTime() });
  const order: string[] = [];
  const envelopes: string[] = [];
  let sends = 0;
  let finds = 0;
  const or = <T>(value: T | Error): T => {
    if (value instanceof Error) throw value;
    return value;
  };
  const observed = <T extends { latestLedger: number; latestLedgerCloseTime?: number }>(answer: T): T => {
    head.observe({ node: 0, sequence: answer.latestLedger, closeTime: answer.latestLedgerCloseTime });
    return answer;
  };
  const methods: Partial<RpcClient> = {
    async sendTransaction(envelope) {
      order.push("send");
      envelopes.push(envelope);
      sends += 1;
      const built = TransactionBuilder.fromXdr(envelope, PASSPHRASE);
      const { timeBounds } = "innerTransaction" in built ? built.innerTransaction : built;
      const isLate = closeTime() > Number(timeBounds!.maxTime);
      const answer = or(script.send?.(sends) ?? (isLate ? refusedAs("txTooLate") : {}));
      return await Promise.resolve(observed({ status: "PENDING" as const, hash: HASH, ...stamp(), ...answer }));
    },
    async getTransaction(hash) {
      finds += 1;
      const answer = or(script.find?.(finds, ledger(), hash) ?? {});
      const whole = { status: "NOT_FOUND" as const, oldestLedger: 1, ...stamp(), ...answer };
      return await Promise.resolve(observed(whole));
    },
    async getLatestLedger() {
      head.observe({ node: 0, sequence: ledger(), closeTime: closeTime() });
      return await Promise.resolve({ sequence: ledger(), id: "", protocolVersion: 28, closeTime: closeTime() });
    },
    async getLedgerEntries() {
      const sequence = script.accountSequence === undefined ? 41n : script.accountSequence(ledger());
      const address = source.publicKey();
      const entries = sequence === undefined
        ? []
        : [{ key: accountKey(address), xdr: accountEntry(address, sequence), lastModifiedLedgerSeq: 1 }];
      return await Promise.resolve({ ...observed(stamp()), entries });
    },
    async getHealth() {
      const health = { status: "healthy", oldestLedger: 1, ledgerRetentionWindow: 100, ...stamp() };
      return await Promise.resolve(observed(health));
    },
  };
  const rpc = stubRpc(methods);
  const { submissionLog, notes, ledgers } = memoryJournal();
  const parts = { rpc, head, clock };
  const transactions = createTransactions({
    ...parts,
    entries: createEntryReader(parts),
    calls: { simulate: () => Promise.reject(new Error("not in these tests")) },
    fees: { bid: () => Promise.reject(new Error("not in these tests")) },
    networkPassphrase: PASSPHRASE,
    submitTimeoutMs: 60_000,
    maxFee: 10_000_000,
    submissionLog: {
      ...submissionLog,
      async record(note) {
        order.push("note");
        await submissionLog.record(note);
        await script.note?.();
      },
    },
    digestOf: operationDigest,
    keepUnresolved: () => Promise.resolve(),
    refuseCall: (call) => call.function === "claim" ? undefined : `must not call ${call.function}`,
    guardOf: () => script.guard && { keys: [accountKey(source.publicKey())], check: script.guard },
    terms: { read: () => Promise.reject(new Error("not in these tests")) },
    explainExcess: () => Promise.reject(new Error("not in these tests")),
    explainSimulation: () => Promise.reject(new Error("not in these tests")),
    explainFailure: (call, failure) =>
      Promise.resolve(new GatewayError("contract_refused", `${call?.function} in ${failure.ledger}`)),
  });
  return {
    transactions,
    ledgers,
    clock,
    head,
    order,
    envelopes,
    notes,
    sent: () => sends,
    found: () => finds,
    calls: rpc.calls,
  };
}

/** A node's answer to an envelope that the network rejects. */
export function refusedAs(
  code: "txBadSeq" | "txTooLate" | "txInsufficientFee" | "txInsufficientBalance" | "txBadAuth" | "txNoAccount",
): Partial<SendAnswer> {
  const result = xdr.TransactionResultResult[code]();
  const all = new xdr.TransactionResult({ feeCharged: 100n, result, ext: xdr.TransactionResultExt.v0() });
  return { status: "ERROR", errorResultXdr: all.toXdr("base64") };
}

/** The error a caller is answered with. */
export async function fault(promise: Promise<unknown>): Promise<GatewayError> {
  const error = await promise.then(() => assert.fail("it resolved"), (error) => error);
  assert.ok(error instanceof GatewayError, String(error?.stack ?? error));
  return error;
}

/** A node's answer for an envelope that this ledger included. */
export const inLedger = (ledger: number) => (_: number, latest: number): Partial<TransactionAnswer> =>
  latest >= ledger ? { status: "SUCCESS", ledger } : {};
