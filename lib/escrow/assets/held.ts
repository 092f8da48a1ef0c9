import { GatewayError } from "../../errors.ts";
import type { EntryReader } from "../../stellar/entries.ts";
import type { RawLedgerEntry } from "../../stellar/rpc/schemas.ts";
import type { ContractCalls } from "../../stellar/transactions/contract_call.ts";
import { asI128, returnedValue } from "../decode.ts";
import { addressVal, assetBalanceKey, instanceKey } from "../reads/storage_keys.ts";
import { type AssetBalance, assetBalance } from "./asset_contract.ts";

/** The balance of the escrow contract in an asset. */
export interface Held {
  /** In the asset's smallest unit. Null: the token does not answer. */
  amount: bigint | null;
  /** The issuer has frozen the balance. */
  frozen: boolean;
  /** Whether the issuer can take the balance back. */
  clawback: boolean;
}

const UNKNOWN: Held = { amount: null, frozen: false, clawback: false };

/** The contract's instance and its balances, all as of one ledger, in the order of the assets. */
export interface HeldAsOf {
  ledger: number;
  instance: RawLedgerEntry | undefined;
  held: Held[];
}

/** @throws {GatewayError} `upstream_error` when the node fails, or when three tries meet different ledgers */
export type HeldReader = (assets: readonly string[]) => Promise<HeldAsOf>;

const TRIES = 3;

/** Reads entries of asset contracts in one call, and other tokens by a simulation each. */
export function createHeldReader({ entries, calls, paymentEscrow }: {
  entries: Pick<EntryReader, "read">;
  calls: ContractCalls;
  paymentEscrow: string;
}): HeldReader {
  /** A token that is no asset contract may keep anything in its entry. An archived entry is absent. */
  async function simulated(asset: string): Promise<Held & { ledger?: number }> {
    const call = { contract: asset, function: "balance", args: [addressVal(paymentEscrow)] };
    const { error, results, latestLedger: ledger } = await calls.simulate(call);
    if (error !== undefined || results?.[0] === undefined) return UNKNOWN;
    try {
      return { ...UNKNOWN, amount: returnedValue(results[0].xdr, asI128), ledger };
    } catch {
      return UNKNOWN;
    }
  }

  return async function read(assets) {
    const keys = [instanceKey(paymentEscrow), ...assets.map((asset) => assetBalanceKey(asset, paymentEscrow))];
    for (let tried = 0; tried < TRIES; tried += 1) {
      const { ledger, entries: [instance, ...found] } = await entries.read(keys, { fresh: true });
      const balances = found.map(balanceIn);
      const held = await Promise.all(assets.map((asset, at) => {
        const balance = balances[at];
        if (balance === undefined) return simulated(asset);
        const { amount, authorized, clawback } = balance;
        return { amount, frozen: !authorized, clawback, ledger };
      }));
      if (held.every((one) => (one.ledger ?? ledger) === ledger)) return { ledger, instance, held };
    }
    throw new GatewayError("upstream_error", "the escrow's balances could not be read as of one ledger");
  };
}

/** Undefined for an entry that has not an asset contract's form. */
function balanceIn(entry: RawLedgerEntry | undefined): AssetBalance | undefined {
  try {
    return assetBalance(entry);
  } catch {
    return undefined;
  }
}
