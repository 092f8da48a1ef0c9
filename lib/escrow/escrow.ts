import { createHash } from "node:crypto";
import type { Clock } from "../clock.ts";
import { createContractCalls } from "../stellar/transactions/contract_call.ts";
import { createEntryReader } from "../stellar/entries.ts";
import { createInclusionFees } from "../stellar/transactions/fees.ts";
import type { Head } from "../stellar/head.ts";
import { createLedgerClock, type LedgerClock } from "../stellar/ledger_clock.ts";
import { accountKey } from "../stellar/transactions/prepare.ts";
import { createNonces } from "./operations/nonces.ts";
import type { RpcClient } from "../stellar/rpc/client.ts";
import { createFootprintTerms } from "../stellar/transactions/footprint.ts";
import { FROZEN_KEYS, frozenAmong } from "../stellar/transactions/frozen_keys.ts";
import type { CheckedEnvelope } from "../stellar/transactions/envelope.ts";
import type { SubmissionLog } from "../stellar/transactions/submission_log.ts";
import {
  type AccountAsOf,
  type Confirmed,
  createTransactions,
  type Transactions,
  type TransactionStatus,
} from "../stellar/transactions/transactions.ts";
import type { Store } from "../store/store.ts";
import { type AssetList, createAssetList } from "./assets/asset_list.ts";
import { createEscrowLog, type EventLog } from "./assets/escrow_log.ts";
import { createHeldReader, type HeldReader } from "./assets/held.ts";
import type { BooksReaders } from "./books/readers.ts";
import { createContractCodes } from "./contracts/codes.ts";
import type { ContractIds } from "./contracts/errors.ts";
import { createCardGuard } from "./operations/card_guard.ts";
import { type Operation, operationDigest, operationKind, refuseCall } from "./operations/operations.ts";
import { type AssetReader, createAssetReader, createTokenCheck } from "./reads/asset_info.ts";
import { createPaymentChecker, type PaymentChecker } from "./reads/payment_check.ts";
import {
  type BuiltRequest,
  createOperationPreparer,
  preparedOf,
  type PreparedRequest,
  type PrepareRequest,
  requestDigest,
} from "./operations/prepare_operation.ts";
import { createPaymentEntries, type PaymentEntries } from "./payments/payment_entries.ts";
import { createAnswerCache } from "./reads/answer_cache.ts";
import { createEscrowReads, type EscrowReads } from "./reads/reads.ts";
import { createEntrySource } from "./reads/reads_by_entries.ts";
import { createExplanations } from "./refusals/explanations.ts";
import { createRefusals } from "./refusals/refusal.ts";
import { createPayable, type PaymentFunds } from "./operations/payable.ts";
import { createReservedSlots } from "./operations/reserved_slots.ts";
import { createWarnings } from "./operations/warnings.ts";
import { createOutcomeWarnings, type UnresolvedSubmission } from "./operations/outcome_warnings.ts";

/** The three contracts, as the other rooms of the gateway use them. */
export interface Escrow {
  reads: EscrowReads;
  payments: PaymentChecker;
  /** The fewest ledgers that a pending payment lives. */
  shortestLife(): Promise<number>;
  /** Reads the entries of payments. */
  paymentEntries: PaymentEntries;
  /** Time and pace of the ledgers. */
  ledgerTimes: LedgerClock["times"];
  assets: AssetReader;
  /** Reads what the contract holds of some assets. */
  held: HeldReader;
  /** The reads of a reconciliation. */
  books: BooksReaders;
  transactions: Pick<Transactions, "submit" | "status" | "account" | "lookUp" | "wasRejected"> & {
    /** Builds the unsigned envelope of an operation. */
    prepare(request: PrepareRequest): Promise<BuiltRequest>;
    /** See `preparedOf`. */
    preparedOf(envelope: Uint8Array, request: PrepareRequest): { answer: PreparedRequest; sequence: string };
    /** A warning for a prepare without an `Idempotency-Key`; see `outcome_warnings.ts`. */
    warning(request: PrepareRequest): Promise<string | undefined>;
  };
  /** The operation of a checked envelope, for the log. */
  describe(envelope: CheckedEnvelope): SubmittedOperation;
  /** 64 hex digits, equal for two operations of one source that differ in their nonces only. */
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

/** The operation in a signed envelope. */
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
  /** The accepted assets; every asset when absent. */
  assets?: AssetList;
  /** The log of events, which shows the assets in the escrow. */
  events: EventLog;
  /** Makes the watcher poll now, and resolves after that poll. Never rejects. */
  catchUp(): Promise<unknown>;
  networkPassphrase: string;
  submitTimeoutMs: number;
  /** The most that a prepared transaction may cost, in stroops. */
  maxFee: number;
  /** Where the gateways on the store share issued nonces and the open envelopes of each merchant. */
  sharedState: Pick<Store["sharedState"], "change">;
  submissionLog: SubmissionLog;
  /** The account's submissions whose outcome no client has received, at least all of this operation. */
  unresolved(source: string, operation: string): Promise<UnresolvedSubmission[]>;
  /** Keeps a submission among them that was applied, or that may be applied although the network rejected it. */
  keepUnresolved(hash: string): Promise<void>;
  /** The number of RPC nodes; 1 when absent. */
  nodes?: number;
  /** How long a cached answer holds when no new ledger arrives; 6 000 when absent. */
  maxAgeMs?: number;
  /** Called with problems for the operator: reads that use calls, unreadable fee statistics. */
  onProblem?: (message: string) => void;
  /** Called when a read finds that the contracts run other code than before. */
  onNewCodes?: () => void;
}

/** Builds reads, payment checks and transactions on one RPC client. */
export function createEscrow(parts: EscrowParts): Escrow {
  const { rpc, head, clock, contracts, networkPassphrase, maxAgeMs, nodes, onProblem } = parts;
  const assets = parts.assets ?? createAssetList(undefined, networkPassphrase);
  const entries = createEntryReader({ rpc, head, clock, nodes, maxAgeMs });
  const calls = createContractCalls({ rpc, head, clock, nodes, networkPassphrase });
  const codes = createContractCodes({ entries, contracts });
  const ledgers = createLedgerClock({ rpc, head, entries, clock });
  const ledgerTime = ledgers.closeTime;
  const terms = createFootprintTerms({ entries, clock });
  const reads = createEscrowReads({
    ...parts,
    entries,
    calls,
    codes,
    now: clock.monotonicMs,
    ledgerTimes: ledgers.times,
  });
  const explanations = createExplanations({ contracts, reads, ledgerTime, terms });
  const refusals = createRefusals({ contracts, isAssetContract: codes.isAssetContract, explanations });
  const { paymentEscrow } = contracts;
  const log = createEscrowLog({ ...parts, paymentEscrow });
  const reservedSlots = createReservedSlots({ contracts, terms, sharedState: parts.sharedState, onProblem });
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
    onEnd: reservedSlots.ended,
  });
  const accountExists = async (address: string) => (await entries.read([accountKey(address)])).entries[0] !== undefined;
  const caching = { head, now: clock.monotonicMs, maxAgeMs: maxAgeMs ?? 6_000 };
  const answers = createAnswerCache<bigint>(caching);
  const held = createHeldReader({ entries, calls, paymentEscrow });
  const { pending } = createEntrySource({ entries, contracts });
  const payable = createPayable({
    entries,
    log,
    paymentEscrow,
    answers: createAnswerCache<PaymentFunds>(caching),
  });
  return {
    reads,
    assets: createAssetReader(calls),
    held,
    books: { entries, pending, held },
    shortestLife: ledgers.shortestLife,
    paymentEntries: createPaymentEntries({ entries, pending, paymentEscrow }),
    ledgerTimes: ledgers.times,
    payments: createPaymentChecker({
      card: reads.card,
      ledgerTime,
      assets,
      contracts,
      accountExists,
      isFrozen: async (keys) => frozenAmong((await entries.read([FROZEN_KEYS])).entries[0], keys) !== undefined,
      // The balance is part of the key, because the first answer after a new ledger may still show the ledger before.
      spendable: (deviceHash, asset, { ledger, value: { balance } }) =>
        answers.get(`${deviceHash} ${asset} ${balance}`, async () => {
          return { ledger, value: await log.spendable(deviceHash, asset, balance) };
        }),
      payable,
    }),
    transactions: {
      ...transactions,
      prepare: createOperationPreparer({
        contracts,
        clock,
        transactions,
        nextNonce: createNonces({ reads, clock, sharedState: parts.sharedState }),
        reservedSlots,
        payable,
        warningOf: createWarnings({ reads, terms }),
      }),
      warning: createOutcomeWarnings({
        contracts,
        status: transactions.status,
        unresolved: parts.unresolved,
        keepUnresolved: parts.keepUnresolved,
      }),
      preparedOf: (envelope, request) => preparedOf(envelope, request, { contracts, networkPassphrase }),
    },
    describe: ({ source, hash, call }) => ({ kind: operationKind(contracts, call), source, hash }),
    digestOf(what) {
      const digest = "call" in what ? operationDigest(what.call) : requestDigest(contracts, what);
      return createHash("sha256").update(JSON.stringify([what.source, digest])).digest("hex");
    },
  };
}
