/** Numbers of the Stellar protocol that the sandbox needs. Amounts are in stroops. */

/** The protocols of the Soroban hosts that `engine/` builds. A host accepts no other protocol than its own. */
export const PROTOCOLS = [27, 28] as const;
export type Protocol = (typeof PROTOCOLS)[number];
export const NEWEST_PROTOCOL = 28;

/** Whether there is a host for this protocol. */
export function hasHost(protocol: number): protocol is Protocol {
  return PROTOCOLS.some((one) => one === protocol);
}

export const INT64_MAX = (1n << 63n) - 1n;

/** 100 billion lumens, as on a new network. */
export const TOTAL_COINS = 1_000_000_000_000_000_000n;
/** Minimum fee per operation. */
export const BASE_FEE = 100n;
export const MAX_RESOURCE_FEE = 1n << 50n;
export const BASE_RESERVE = 5_000_000;
/** Base reserves of an account without subentries. */
export const ACCOUNT_RESERVES = 2;

/** Subentries per account: signers, trustlines, data. */
export const MAX_SUBENTRIES = 1_000;
export const MAX_SIGNERS = 20;
export const MAX_SIGNER_WEIGHT = 255;
export const MAX_TX_SET_SIZE = 100;
/** An expired entry is evicted after so many ledgers. The real network's scan takes about as long. */
export const EVICTION_DELAY_LEDGERS = 64;

/** LedgerEntryType, the first word of a LedgerKey. */
export const LEDGER_ENTRY_TYPES = { trustline: 1, data: 3, claimableBalance: 4, contractData: 6, ttl: 9 } as const;

/** AccountFlags. */
export const AUTH_REQUIRED = 1;
export const AUTH_REVOCABLE = 2;
export const AUTH_IMMUTABLE = 4;
export const AUTH_CLAWBACK = 8;
export const ACCOUNT_FLAGS = AUTH_REQUIRED | AUTH_REVOCABLE | AUTH_IMMUTABLE | AUTH_CLAWBACK;

/** TrustLineFlags. */
export const AUTHORIZED = 1;
export const MAINTAINS_LIABILITIES = 2;
export const CLAWBACK_ENABLED = 4;
export const AUTHORIZATION_FLAGS = AUTHORIZED | MAINTAINS_LIABILITIES;
export const TRUSTLINE_FLAGS = AUTHORIZATION_FLAGS | CLAWBACK_ENABLED;

/** ClaimableBalanceFlags. */
export const BALANCE_CLAWBACK_ENABLED = 1;
