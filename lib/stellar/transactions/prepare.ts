import { Account, Keypair, Operation, type Transaction, TransactionBuilder, xdr } from "@stellar/stellar-sdk/base";
import { GatewayError } from "../../errors.ts";
import { authorisationsOf } from "./authorisations.ts";
import type { CallGuard, CallInEnvelope, ContractCall, ContractCalls } from "./contract_call.ts";
import type { EntryReader } from "../entries.ts";
import { calledIn } from "./envelope.ts";
import type { InclusionFees } from "./fees.ts";
import { nodeXdr } from "./node_xdr.ts";
import type { RawLedgerEntry, RawSimulation } from "../rpc/schemas.ts";
import type { Head } from "../head.ts";
import { FROZEN_KEYS, frozenAmong, frozenRefusal, keysOf } from "./frozen_keys.ts";
import { type Excess, excessOf, type FootprintTerms } from "./footprint.ts";

/** How long a prepared transaction stays valid, in seconds. */
export const VALID_FOR_SECONDS = 300;

/** An unsigned envelope for its source to sign. */
export interface PreparedTransaction {
  /** Base64 TransactionEnvelope. */
  xdr: string;
  networkPassphrase: string;
  /** Hex; the source signs this hash. */
  hash: string;
  /** The most it can cost, in stroops. */
  fee: string;
  /** Upper time bound, Unix seconds. */
  validUntil: number;
}

/** A new envelope. */
export interface BuiltTransaction extends PreparedTransaction {
  /** The ledger of which its sequence number is the account's next one. */
  sinceLedger: number;
}

export interface PrepareParts {
  calls: ContractCalls;
  entries: EntryReader;
  fees: InclusionFees;
  head: Head;
  networkPassphrase: string;
  /** The guard of this call, undefined for none. */
  guardOf(call: CallInEnvelope): CallGuard | undefined;
  /** Explains a failed simulation to the caller. */
  explainSimulation(call: ContractCall, simulation: RawSimulation): Promise<GatewayError>;
  /** Explains a call that is larger than the network allows. */
  explainExcess(call: ContractCall, excess: Excess): Promise<GatewayError>;
  /** The most that a transaction may cost, in stroops. */
  maxFee: number;
  /** The network's limits. */
  terms: { read(): Promise<FootprintTerms> };
}

/** The base64 LedgerKey of an account `G…`. */
export function accountKey(address: string): string {
  const accountId = Keypair.fromPublicKey(address).xdrAccountId();
  return xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId })).toXdr("base64");
}

/** Sequence numbers are signed 64-bit integers (`SequenceNumber` in Stellar's XDR). */
const LAST_SEQUENCE = 2n ** 63n - 1n;

/** An account's sequence number (undefined when it does not exist), its ledger, and other entries, in one uncached call. */
export async function readAccount(entries: EntryReader, address: string, keys: string[] = []) {
  const { ledger, entries: [account, ...beside] } = await entries.read([accountKey(address), ...keys], { fresh: true });
  return { ledger, sequence: account && sequenceOf(account), beside };
}

function sequenceOf(entry: RawLedgerEntry): bigint {
  return nodeXdr("the account's entry", () => {
    const data = xdr.LedgerEntryData.fromXdr(entry.xdr, "base64");
    if (data.type !== "account") throw new TypeError(`got an entry of type ${data.type}`);
    return data.account.seqNum;
  });
}

/** Widens a simulation's transaction data (base64) before the envelope is built. */
export type Widen = (simulation: RawSimulation) => Promise<string>;

/**
 * Builds the envelope of one call. It simulates the call against the newest ledger and takes its resources, with what
 * `widen` adds. The inclusion fee follows the node's statistics, and a time bound is set.
 * @throws {GatewayError} `not_found` for an account that does not exist; the errors of the guard and of
 * `explainSimulation`
 * @throws {GatewayError} `invalid_request` when another account has to authorise it, or the source has to authorise
 * more, or has no sequence number left
 * @throws {GatewayError} `invalid_request` when it needs a frozen entry
 * @throws {GatewayError} `upstream_error` after a start, while the node's time and our clock disagree, or when the node
 * estimates more than `maxFee`
 */
export async function prepareTransaction(
  parts: PrepareParts,
  source: string,
  call: ContractCall,
  widen?: Widen,
): Promise<BuiltTransaction> {
  const { calls, entries, fees, networkPassphrase } = parts;
  const guard = parts.guardOf({ call, authorisers: [source], param: "source" });
  const [{ ledger: sinceLedger, sequence, beside }, simulation, inclusionFee] = await Promise.all([
    readAccount(entries, source, [...guard?.keys ?? [], FROZEN_KEYS]),
    calls.simulate(call, source),
    fees.bid(),
  ]);
  if (sequence === undefined) {
    throw new GatewayError("not_found", `source ${source} does not exist on this network; it has to be funded first`, {
      param: "source",
    });
  }
  if (sequence >= LAST_SEQUENCE) {
    const message = `source ${source} has used its last sequence number, ${LAST_SEQUENCE}; use another account`;
    throw new GatewayError("invalid_request", message, { param: "source" });
  }
  await guard?.check(beside.slice(0, -1));
  if (simulation.error !== undefined) throw await parts.explainSimulation(call, simulation);
  const frozen = frozenAmong(beside.at(-1), () => [accountKey(source), ...keysOf(simulation.transactionData!)]);
  if (frozen !== undefined) throw frozenRefusal(frozen);
  const auth = authorisationsOf(call, source, simulation);
  refuseRestores(simulation);
  const excess = await excessOf(simulation.transactionData!, parts.terms);
  if (excess !== undefined) throw await parts.explainExcess(call, excess);
  const transactionData = await widen?.(simulation) ?? simulation.transactionData!;
  // Our own clock may be ahead, and the envelope then valid for too long.
  const validUntil = await parts.head.certainTime() + VALID_FOR_SECONDS;
  const operation = Operation.invokeContractFunction({ ...call, auth });
  const builder = new TransactionBuilder(new Account(source, sequence.toString()), {
    fee: inclusionFee.toString(),
    networkPassphrase,
    timebounds: { minTime: 0, maxTime: validUntil },
  }).addOperation(operation);
  const transaction = nodeXdr("transactionData", () => builder.setSorobanData(transactionData).build());
  // A broken node must not make an account pay.
  if (BigInt(transaction.fee) > parts.maxFee) {
    const message =
      `the RPC node estimates a fee of ${transaction.fee} stroops; SERVICE_API_MAX_FEE allows ${parts.maxFee}`;
    throw new GatewayError("upstream_error", message);
  }
  return {
    xdr: transaction.toXdr(),
    networkPassphrase,
    hash: xdr.encodeBytes(transaction.hash(), "hex"),
    fee: transaction.fee,
    validUntil,
    sinceLedger,
  };
}

/** Decodes an unsigned envelope of `prepareTransaction`, with its call and sequence number. */
export function readPrepared(envelope: Uint8Array, networkPassphrase: string) {
  const transaction = TransactionBuilder.fromXdr(
    xdr.TransactionEnvelope.fromXdr(envelope),
    networkPassphrase,
  ) as Transaction;
  const encoded = transaction.toXdr();
  const prepared: PreparedTransaction = {
    xdr: encoded,
    networkPassphrase,
    hash: xdr.encodeBytes(transaction.hash(), "hex"),
    fee: transaction.fee,
    validUntil: Number(transaction.timeBounds!.maxTime),
  };
  return { prepared, call: calledIn(encoded)!, sequence: transaction.sequence };
}

/**
 * Since protocol 23 an invocation restores archived entries itself. Only an older node asks for a separate transaction.
 */
function refuseRestores({ restorePreamble }: RawSimulation): void {
  if (restorePreamble === undefined || restorePreamble.transactionData === "") return;
  throw new GatewayError("invalid_request", "the operation needs archived entries, which have to be restored first");
}
