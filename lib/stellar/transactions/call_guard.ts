import type { RawLedgerEntry } from "../rpc/schemas.ts";
import type { ContractCall } from "./contract_call.ts";

/** A call that is to be prepared, or that an envelope turned out to hold. */
export interface CallInEnvelope {
  call: ContractCall;
  /** Whose authorisation the envelope can carry: its source's, and those that it brings signed. `G…` or `C…`. */
  authorisers: string[];
  /** What of the request says so: the source of a prepare, the xdr of a submit. */
  param: "source" | "xdr";
}

/** What has to hold of the ledger before a call is prepared or sent. */
export interface CallGuard {
  /** Base64 LedgerKeys: read in one call, with what is read anyway. */
  keys: string[];
  /**
   * Takes the entries of `keys`.
   * @throws {GatewayError} why the call is not for who acts; `upstream_error` when that can't be told
   */
  check(entries: (RawLedgerEntry | undefined)[]): Promise<void>;
}
