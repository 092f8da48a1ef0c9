import { GatewayError } from "../../errors.ts";
import type { EntryReader } from "../../stellar/entries.ts";
import type { RawLedgerEntry } from "../../stellar/rpc/schemas.ts";
import type { ContractIds } from "../contracts/errors.ts";
import {
  asAgentPolicy,
  asDeviceInfo,
  asHash,
  asI128,
  asPayment,
  asU32,
  asU64,
  type Decode,
  entryValue,
  UnexpectedEntry,
} from "../decode.ts";
import { type AsOf, type Card, type Pending, type PendingPayment, type ReadSource, TRIES } from "./read_source.ts";
import * as keys from "./storage_keys.ts";

/** The most devices of a wallet, or payments of a merchant, to read; far more than the contracts themselves can read. */
const MOST_ITEMS = 40_000;

export interface EntrySource extends ReadSource {
  /** The last nonce an agent used for a device, undefined before its first payment. Not cached. */
  lastNonce(deviceHash: string, agent: string): Promise<bigint | undefined>;
  /** The number of payments for a merchant since its last claim, expired ones included. */
  paidSinceClaim(merchant: string): Promise<number>;
}

/** Reads the contracts' storage: one upstream call for many devices. */
export function createEntrySource(
  { entries, contracts }: { entries: EntryReader; contracts: ContractIds },
): EntrySource {
  const { deviceRegistry, agentRegistry, paymentEscrow } = contracts;

  /** Reads a count and then its items, until both are of one ledger. */
  async function counted(
    countKey: string,
    itemKeys: (count: number) => string[],
  ): Promise<{ ledger: number; count: number; items: (RawLedgerEntry | undefined)[] }> {
    for (let tried = 0; tried < TRIES; tried += 1) {
      const { ledger, entries: [counter] } = await entries.read([countKey]);
      const count = valueOf(counter, asU32) ?? 0;
      if (count > MOST_ITEMS) throw new GatewayError("upstream_error", `${count} items are more than can be read`);
      const wanted = count === 0 ? [] : itemKeys(count);
      if (wanted.length === 0) return { ledger, count, items: [] };
      const items = await entries.read(wanted);
      if (items.ledger === ledger) return { ledger, count, items: items.entries };
    }
    throw new GatewayError("upstream_error", `ledgers closed faster than their entries could be read, ${TRIES} times`);
  }

  return {
    async card(deviceHash) {
      const { ledger, entries: found } = await entries.read(cardKeys(contracts, deviceHash));
      return { ledger, value: cardOf(found) };
    },

    async policy(deviceHash) {
      const { ledger, entries: [policy] } = await entries.read([keys.policyKey(agentRegistry, deviceHash)]);
      return { ledger, value: valueOf(policy, asAgentPolicy) };
    },

    async walletDevices(wallet, atMost = Infinity) {
      const { ledger, count, items } = await counted(
        keys.walletDeviceCountKey(deviceRegistry, wallet),
        (found) => indexes(Math.min(found, atMost)).map((index) => keys.walletDeviceKey(deviceRegistry, wallet, index)),
      );
      return { ledger, value: { count, devices: items.map((item) => valueOf(item, asHash) ?? missing()) } };
    },

    async pending(merchant) {
      const { ledger, items } = await counted(
        keys.pendingIndexKey(paymentEscrow, merchant),
        // Some contracts number from 0 and some from 1, so this reads one place more, which is empty.
        (found) => indexes(found + 1).map((index) => keys.pendingPaymentKey(paymentEscrow, merchant, index)),
      );
      return pendingOf(items, ledger);
    },

    async paidSinceClaim(merchant) {
      const { entries: [counter] } = await entries.read([keys.pendingIndexKey(paymentEscrow, merchant)]);
      return valueOf(counter, asU32) ?? 0;
    },

    async lastNonce(deviceHash, agent) {
      const { entries: [entry] } = await entries.read([keys.nonceKey(paymentEscrow, deviceHash, agent)], {
        fresh: true,
      });
      return valueOf(entry, asU64);
    },
  };
}

/** The keys of a card's entries: device, policy and balance. */
export function cardKeys({ deviceRegistry, agentRegistry, paymentEscrow }: ContractIds, deviceHash: string): string[] {
  return [
    keys.deviceKey(deviceRegistry, deviceHash),
    keys.policyKey(agentRegistry, deviceHash),
    keys.balanceKey(paymentEscrow, deviceHash),
  ];
}

/** The card in the entries of `cardKeys`. @throws {UnexpectedEntry} */
export function cardOf([device, policy, balance]: (RawLedgerEntry | undefined)[]): Card {
  return {
    device: valueOf(device, asDeviceInfo),
    policy: valueOf(policy, asAgentPolicy),
    balance: valueOf(balance, asI128) ?? 0n,
  };
}

/** Counts live entries only, because a node may still return expired ones. */
function pendingOf(items: (RawLedgerEntry | undefined)[], ledger: number): AsOf<Pending> {
  let total = 0n;
  let isEdge = false;
  const payments: PendingPayment[] = [];
  for (const item of items) {
    const liveUntil = item?.liveUntilLedgerSeq ?? Infinity;
    if (item === undefined || liveUntil < ledger) continue;
    const payment = entryValue(item.xdr, asPayment);
    payments.push({ ...payment, liveUntilLedger: item.liveUntilLedgerSeq });
    total += payment.amount;
    isEdge ||= liveUntil === ledger;
  }
  return { ledger, value: { total, payments }, isEdge };
}

function valueOf<T>(entry: RawLedgerEntry | undefined, decode: Decode<T>): T | undefined {
  return entry === undefined ? undefined : entryValue(entry.xdr, decode);
}

function indexes(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

function missing(): never {
  throw new UnexpectedEntry("a counted device of the wallet is missing");
}
