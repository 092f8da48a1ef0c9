import type { RawLedgerEntry } from "../rpc/schemas.ts";
import type { ContractCall } from "./contract_call.ts";

/** A call of a prepare, or of a submitted envelope. */
export interface CallInEnvelope {
  call: ContractCall;
  /**
   * The accounts whose authorisation the envelope can carry: its source, and the signers of its entries. `G…` or `C…`.
   */
  authorisers: string[];
  /** The field of the request that holds them: `source` of a prepare, `xdr` of a submit. */
  param: "source" | "xdr";
}

/** A condition on ledger entries that has to hold before the gateway prepares or sends a call. */
export interface CallGuard {
  /** Base64 LedgerKeys, read in one call together with the account. */
  keys: string[];
  /**
   * Checks the entries of `keys`.
   * @throws {GatewayError} why the caller may not make the call; `upstream_error` when that is not known
   */
  check(entries: (RawLedgerEntry | undefined)[]): Promise<void>;
}
