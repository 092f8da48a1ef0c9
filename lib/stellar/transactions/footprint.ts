import { SorobanDataBuilder, xdr } from "@stellar/stellar-sdk/base";
import type { Clock } from "../../clock.ts";
import { GatewayError } from "../../errors.ts";
import type { EntryReader } from "../entries.ts";
import { nodeXdr } from "./node_xdr.ts";

/** The limits and fees of a transaction's footprint. Fees in stroops, rounded up (CAP-46-07, CAP-62, CAP-65). */
export interface FootprintTerms {
  mostEntries: number;
  mostWrittenEntries: number;
  feePerWrittenEntry: bigint;
  feePerWrittenKb: bigint;
  /** For the envelope's bytes in history, and for sending them around the network. */
  feePerHistoryKb: bigint;
  feePerBandwidthKb: bigint;
  feePer10000Instructions: bigint;
}

/** Keys that an invocation may need although its simulation did not. */
export interface ReservedKeys {
  /** Base64 LedgerKeys, the most needed ones first: the limits may cut the list. */
  keys: string[];
  /** Instructions that the host needs for one more key. */
  instructionsPerKey: number;
  /** Size of an entry at that key. The network counts a key that may be written as written, changed or not. */
  bytesPerKey: number;
}

/** Validators change them by vote, rarely. A client that prepares at that moment may have to prepare again. */
const CACHED_MS = 600_000;

/** Reads the network's settings, at most every ten minutes. */
export function createFootprintTerms(
  { entries, clock }: { entries: EntryReader; clock: Clock },
): { read(): Promise<FootprintTerms> } {
  let cached: FootprintTerms | undefined;
  let cachedUntilMs = -Infinity;

  return {
    /** @throws {GatewayError} `upstream_error` when no node returns them */
    async read() {
      if (cached !== undefined && clock.monotonicMs() < cachedUntilMs) return cached;
      const { entries: found } = await entries.read(SETTING_KEYS);
      cached = decodedTerms(found.map((entry) => entry?.xdr));
      cachedUntilMs = clock.monotonicMs() + CACHED_MS;
      return cached;
    },
  };
}

const { ConfigSettingId } = xdr;
const SETTING_KEYS = [
  ConfigSettingId.configSettingContractLedgerCostV0,
  ConfigSettingId.configSettingContractLedgerCostExtV0,
  ConfigSettingId.configSettingContractHistoricalDataV0,
  ConfigSettingId.configSettingContractBandwidthV0,
  ConfigSettingId.configSettingContractComputeV0,
].map((configSettingId) =>
  xdr.LedgerKey.configSetting(new xdr.LedgerKeyConfigSetting({ configSettingId })).toXdr("base64")
);

function decodedTerms(settings: (string | undefined)[]): FootprintTerms {
  return nodeXdr("the network's settings", () => {
    const [cost, costExt, history, bandwidth, compute] = settings.map((setting) => {
      if (setting === undefined) throw new GatewayError("upstream_error", "the network lacks settings of protocol 23");
      const data = xdr.LedgerEntryData.fromXdr(setting, "base64");
      if (data.type !== "configSetting") throw new TypeError(`got an entry of type ${data.type}`);
      return data.configSetting;
    });
    if (
      cost?.type !== "configSettingContractLedgerCostV0" || costExt?.type !== "configSettingContractLedgerCostExtV0" ||
      history?.type !== "configSettingContractHistoricalDataV0" ||
      bandwidth?.type !== "configSettingContractBandwidthV0" || compute?.type !== "configSettingContractComputeV0"
    ) throw new TypeError("got settings that were not requested");
    return {
      mostEntries: costExt.contractLedgerCostExt.txMaxFootprintEntries,
      mostWrittenEntries: cost.contractLedgerCost.txMaxWriteLedgerEntries,
      feePerWrittenEntry: cost.contractLedgerCost.feeWriteLedgerEntry,
      feePerWrittenKb: costExt.contractLedgerCostExt.feeWrite1Kb,
      feePerHistoryKb: history.contractHistoricalData.feeHistorical1Kb,
      feePerBandwidthKb: bandwidth.contractBandwidth.feeTxSize1Kb,
      feePer10000Instructions: compute.contractCompute.feeRatePerInstructionsIncrement,
    };
  });
}

/** How far a transaction exceeds the network's limit. */
export interface Excess {
  /** Ledger entries that it would write, or read and write. */
  entries: number;
  most: number;
  /** A clause for an error message. */
  words: string;
}

/** The network's limit has never been lower. Up to this number no limit is read. */
const SMALL = 20;

/**
 * Reports a transaction that is larger than the network allows. A simulation does not, so the client would sign it in
 * vain. Undefined when it fits, or when the limits are not known.
 * @param transactionData base64 SorobanTransactionData
 */
export async function excessOf(
  transactionData: string,
  terms: { read(): Promise<FootprintTerms> },
): Promise<Excess | undefined> {
  const { readOnly, readWrite } = nodeXdr(
    "transactionData",
    () => xdr.SorobanTransactionData.fromXdr(transactionData, "base64"),
  ).resources.footprint;
  const touched = readOnly.length + readWrite.length;
  if (touched <= SMALL) return undefined;
  const limits = await terms.read().catch(() => undefined);
  if (limits === undefined) return undefined;
  if (readWrite.length > limits.mostWrittenEntries) {
    return exceeding("write", readWrite.length, limits.mostWrittenEntries);
  }
  return touched > limits.mostEntries ? exceeding("touch", touched, limits.mostEntries) : undefined;
}

function exceeding(verb: string, entries: number, most: number): Excess {
  return { entries, most, words: `it would ${verb} ${entries} ledger entries, where ${most} are allowed` };
}

/**
 * Adds reserved keys to a simulation's transaction data (base64) as written keys, as many as the limits allow, and
 * their fee. The network refunds none of it.
 */
export function withReservedKeys(transactionData: string, reserved: ReservedKeys, terms: FootprintTerms): string {
  const data = nodeXdr("transactionData", () => xdr.SorobanTransactionData.fromXdr(transactionData, "base64"));
  const { footprint: { readOnly, readWrite }, instructions, diskReadBytes, writeBytes } = data.resources;
  const room = Math.min(
    terms.mostWrittenEntries - readWrite.length,
    terms.mostEntries - readWrite.length - readOnly.length,
  );
  const present = new Set([...readOnly, ...readWrite].map((key) => key.toXdr("base64")));
  const added = [...new Set(reserved.keys)].filter((key) => !present.has(key)).slice(0, Math.max(0, room));
  if (added.length === 0) return transactionData;
  const moreInstructions = added.length * reserved.instructionsPerKey;
  const moreWriteBytes = added.length * reserved.bytesPerKey;
  const moreEnvelopeBytes = added.reduce((bytes, key) => bytes + xdr.decodeBytes(key, "base64").length, 0);
  const moreFee = BigInt(added.length) * terms.feePerWrittenEntry +
    feeFor(moreWriteBytes, terms.feePerWrittenKb, 1024n) +
    feeFor(moreEnvelopeBytes, terms.feePerHistoryKb, 1024n) +
    feeFor(moreEnvelopeBytes, terms.feePerBandwidthKb, 1024n) +
    feeFor(moreInstructions, terms.feePer10000Instructions, 10_000n);
  // Appended, because data.ext refers to the earlier keys by number.
  return new SorobanDataBuilder(data)
    .appendFootprint([], added.map((key) => xdr.LedgerKey.fromXdr(key, "base64")))
    .setResources(instructions + moreInstructions, diskReadBytes, writeBytes + moreWriteBytes)
    .setResourceFee(data.resourceFee + moreFee)
    .build().toXdr("base64");
}

function feeFor(amount: number, rate: bigint, per: bigint): bigint {
  return (BigInt(amount) * rate + per - 1n) / per;
}
