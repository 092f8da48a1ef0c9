import { createHash } from "node:crypto";
import type { Clock } from "../clock.ts";
import { createContractCalls } from "../stellar/transactions/contract_call.ts";
import { createEntryReader } from "../stellar/entries.ts";
import { createInclusionFees } from "../stellar/transactions/fees.ts";
import type { Head } from "../stellar/head.ts";
import { createLedgerClock } from "../stellar/ledger_clock.ts";
import { accountKey, VALID_FOR_SECONDS } from "../stellar/transactions/prepare.ts";
import type { RpcClient } from "../stellar/rpc/client.ts";
import { createFootprintTerms } from "../stellar/transactions/reserved_keys.ts";
import type { CheckedEnvelope } from "../stellar/transactions/envelope.ts";
import type { SubmissionLog } from "../stellar/transactions/submission_log.ts";
import {
  type AccountAsOf,
  type Confirmed,
  createTransactions,
  type Transactions,
  type TransactionStatus,
} from "../stellar/transactions/transactions.ts";
import { type AssetList, createAssetList } from "./assets/asset_list.ts";
import { createEscrowLog, type EventLog } from "./assets/escrow_log.ts";
import { createTokenCheck } from "./assets/token_check.ts";
import { createContractCodes } from "./contracts/codes.ts";
import type { ContractIds } from "./contracts/errors.ts";
import { createCardGuard } from "./operations/card_guard.ts";
import { createMerchantEnvelopes, type SharedMerchantEnvelopes } from "./operations/merchant_envelopes.ts";
import { type Operation, operationDigest, operationKind, refuseCall } from "./operations/operations.ts";
import { type AssetReader, createAssetReader } from "./reads/asset_info.ts";
import { createPaymentChecker, type PaymentChecker } from "./reads/payment_check.ts";
import {
  type BuiltRequest,
  createOperationPreparer,
  NONCE_SLACK_MS,
  preparedOf,
  type PreparedRequest,
  type PrepareRequest,
} from "./operations/prepare_operation.ts";
import { createAnswerCache } from "./reads/answer_cache.ts";
import { createEscrowReads, type EscrowReads } from "./reads/reads.ts";
import type { KeptVerdicts } from "./reads/source_choice.ts";
import { createCallSource } from "./reads/reads_by_calls.ts";
import { createEntrySource } from "./reads/reads_by_entries.ts";
import { createExplanations } from "./refusals/explanations.ts";
import { createRefusals } from "./refusals/refusal.ts";
import { createReservedSlots } from "./operations/reserved_slots.ts";
import { createWarnings } from "./operations/warnings.ts";
import { createOutcomeWarnings, requestDigest, type UnresolvedSubmission } from "./operations/outcome_warnings.ts";

/** The three contracts, as the rest of the gateway speaks with them. */
export interface Escrow {
  reads: EscrowReads;
  payments: PaymentChecker;
  /** How many ledgers a pending payment lives at the least. */
  shortestLife(): Promise<number>;
  assets: AssetReader;
  transactions: Pick<Transactions, "submit" | "status" | "account" | "lookUp" | "wasRejected"> & {
    /** Builds the unsigned envelope of an operation. */
    prepare(request: PrepareRequest): Promise<BuiltRequest>;
    /** See `preparedOf`. */
    preparedOf(envelope: Uint8Array, request: PrepareRequest): { answer: PreparedRequest; sequence: string };
    /** A warning for a client that prepares this without an `Idempotency-Key`; see `outcome_warnings.ts`. */
    warning(request: PrepareRequest): Promise<string | undefined>;
  };
  /** The operation of a checked envelope, for the log. */
  describe(envelope: CheckedEnvelope): SubmittedOperation;
  /** Alike for two of one source that do the same, whatever their nonces: 64 hex digits. */
  digestOf(what: PrepareRequest | CheckedEnvelope): string;
}

export type {
  AccountAsOf,
  BuiltRequest,
  CheckedEnvelope,
  Confirmed,
  PreparedRequest,
  PrepareRequest,
  TransactionStatus,
};

/** The content of a signed envelope. */
export interface SubmittedOperation {
  kind: Operation["kind"] | undefined;
  source: string;
  hash: string;
}

export interface EscrowParts {
  rpc: RpcClient;
  head: Head;
  clock: Clock;
  contracts: ContractIds;
  /** The accepted assets; all when absent. */
  assets?: AssetList;
  /** Knows the assets in the escrow, as far as the log reaches; absent when there is no log. */
  log?: EventLog;
  networkPassphrase: string;
  submitTimeoutMs: number;
  /**
   * The verdicts on the contracts' code that the gateways of one store share; absent for a gateway with a store of its
   * own.
   */
  verdicts?: KeptVerdicts;
  /** The envelopes that they prepared for merchants; absent as `verdicts`. */
  sharedEnvelopes?: SharedMerchantEnvelopes;
  submissionLog: SubmissionLog;
  /** Hands out a nonce above `used` and above every one that was handed out within its `validForMs`. */
  nextNonce(request: { deviceHash: string; agent: string; used: string; validForMs: number }): Promise<string>;
  /** The submissions of an account with an unknown outcome. It includes at least all of this operation. */
  untold(source: string, operation: string): Promise<UnresolvedSubmission[]>;
  /** Told of one that was applied, or may be though it was said to be turned down, and that stays among them. */
  keepUntold(hash: string): Promise<void>;
  /** How many nodes there are to be asked; 1 when absent. */
  nodes?: number;
  /** How long what was read holds when no new ledger is seen; 6 000 when absent. */
  maxAgeMs?: number;
  /** Told of what an operator should know: reads that go by calls, statistics that can't be read. */
  onProblem?: (message: string) => void;
  /** Told when a read finds that the contracts run other code than before. */
  onNewCodes?: () => void;
}

/** Puts reads, payment checks and transactions together over one RPC client. */
export function createEscrow(parts: EscrowParts): Escrow {
  const { rpc, head, clock, contracts, networkPassphrase, maxAgeMs, nodes, onProblem } = parts;
  const assets = parts.assets ?? createAssetList(undefined, networkPassphrase);
  const entries = createEntryReader({ rpc, head, clock, nodes, maxAgeMs });
  const calls = createContractCalls({ rpc, head, clock, nodes, networkPassphrase });
  const codes = createContractCodes({ entries, contracts });
  const ledgers = createLedgerClock({ rpc, head, entries, clock });
  const ledgerTime = ledgers.closeTime;
  const terms = createFootprintTerms({ entries, clock });
  const paidSinceClaim = async (merchant: string) =>
    reads.ways().pending === "calls" ? undefined : await byEntries.paidSinceClaim(merchant);
  const explanations = createExplanations({
    reads: () => reads,
    paidSinceClaim,
    lastNonce: async (deviceHash, agent) =>
      reads.ways().device === "calls" ? undefined : await byEntries.lastNonce(deviceHash, agent),
    ledgerTime,
    terms,
  });
  const refusals = createRefusals({ contracts, isAssetContract: codes.isAssetContract, explanations });
  const byEntries = createEntrySource({ entries, contracts });
  const byCalls = createCallSource({ calls, contracts, refusals });
  const reads: EscrowReads = createEscrowReads({
    byEntries,
    byCalls,
    codes,
    head,
    now: clock.monotonicMs,
    ledgerTimes: ledgers.times,
    maxAgeMs,
    verdicts: parts.verdicts,
    onProblem,
    onNewCodes: parts.onNewCodes,
  });
  const log = createEscrowLog({ log: parts.log, clock });
  const validForMs = VALID_FOR_SECONDS * 1000;
  const spares = createReservedSlots({
    paymentEscrow: contracts.paymentEscrow,
    terms,
    traffic: createMerchantEnvelopes({ now: clock.monotonicMs, validForMs }),
    sharedEnvelopes: parts.sharedEnvelopes,
    onProblem,
  });
  const transactions = createTransactions({
    ...parts,
    entries,
    calls,
    fees: createInclusionFees({ rpc, clock, onProblem }),
    terms,
    explainSimulation: refusals.ofSimulation,
    explainExcess: refusals.ofExcess,
    explainFailure: refusals.ofFailure,
    refuseCall: (call) => refuseCall(contracts, call),
    guardOf: createCardGuard({ contracts, assets, reads, log, isToken: createTokenCheck(calls) }),
    digestOf: operationDigest,
    onEnd: spares.ended,
  });
  async function nextNonce(deviceHash: string, agent: string): Promise<string> {
    // There is no getter for it: where the storage can't be read, a clock counts up as well (in microseconds).
    const used = await reads.wayOfCards(deviceHash) === "calls"
      ? BigInt(clock.now()) * 1000n
      : await byEntries.lastNonce(deviceHash, agent) ?? 0n;
    const keptForMs = validForMs + NONCE_SLACK_MS;
    return await parts.nextNonce({ deviceHash, agent, used: used.toString(), validForMs: keptForMs });
  }

  const { submit, status, account, lookUp, wasRejected } = transactions;
  const accountExists = async (address: string) => (await entries.read([accountKey(address)])).entries[0] !== undefined;
  const answers = createAnswerCache<bigint>({ head, now: clock.monotonicMs, maxAgeMs: maxAgeMs ?? 6_000 });
  return {
    reads,
    assets: createAssetReader(calls),
    shortestLife: ledgers.shortestLife,
    payments: createPaymentChecker({
      card: reads.card,
      ledgerTime,
      assets,
      accountExists,
      // IdempotentOperation a ledger for each card, asset and balance: the first answer of a ledger may be of the one before.
      spendable: (deviceHash, asset, { ledger, value: { balance } }) =>
        answers.get(`${deviceHash} ${asset} ${balance}`, async () => {
          return { ledger, value: await log.spendable(deviceHash, asset, balance) };
        }),
    }),
    transactions: {
      prepare: createOperationPreparer({
        contracts,
        clock,
        transactions,
        nextNonce,
        spares,
        warningOf: createWarnings({ reads, paidSinceClaim, terms }),
      }),
      warning: createOutcomeWarnings({
        contracts,
        status,
        untold: parts.untold,
        keepUntold: parts.keepUntold,
      }),
      submit,
      status,
      account,
      lookUp,
      wasRejected,
      preparedOf: (envelope, request) => preparedOf(envelope, request, networkPassphrase),
    },
    describe: ({ source, hash, call }) => ({ kind: operationKind(contracts, call), source, hash }),
    digestOf(what) {
      const digest = "call" in what ? operationDigest(what.call) : requestDigest(contracts, what);
      return createHash("sha256").update(JSON.stringify([what.source, digest])).digest("hex");
    },
  };
}
