import { type IntentEnvelope, MAX_INTENT_ENVELOPES, type TransactionIntent } from "../../store/transaction_intent.ts";

/** The source account, as of one ledger. */
export interface AccountAsOf {
  ledger: number;
  /** Its last used sequence number; undefined when the account does not exist. */
  sequence: bigint | undefined;
  /** Close time of a ledger not above `ledger`, Unix seconds; 0 while unknown. */
  closedAt: number;
}

/** The result of looking up an intent's envelopes in the ledgers. */
export type LookedUp =
  /** The network applied one with success. `envelope` has its unsigned bytes, where a node has them. */
  | { status: "applied"; hash: string; ledger: number; envelope?: Uint8Array }
  /** The network applied one without success, which used the sequence number of all. */
  | { status: "failed" }
  /** None was found. `unknown`: envelopes that may be in a ledger that the nodes have pruned. */
  | { status: "missing"; unknown: string[] };

/** The facts that the rule uses. */
export interface Known {
  account?: AccountAsOf;
  lookedUp?: LookedUp;
}

/** The next step for an intent. `live`: envelopes that the network may still apply, newest first. */
export type Verdict =
  /** The rule needs the account, or a look-up of the envelopes. */
  | { kind: "read account" | "look up" }
  /** The network applied one with success, which is final; `envelope` as in `LookedUp`. */
  | { kind: "outcome"; outcome: { hash: string; ledger: number }; envelope?: Uint8Array }
  /** The network may still apply the newest: return it again. */
  | { kind: "again"; live: IntentEnvelope[] }
  /** The network rejected the newest, or its bound has passed: replace it, with the same sequence number. */
  | { kind: "replace"; live: IntentEnvelope[] }
  /** The newest is past its bound, and no replacement is allowed until all are. */
  | { kind: "wait"; live: IntentEnvelope[] }
  /** The outcome of this envelope is unknown, with `isPermanent` permanently. */
  | { kind: "unknown"; hash: string; isPermanent: boolean }
  /** The network can never apply any of them: build a fresh envelope. */
  | { kind: "fresh" };

/**
 * The rule that makes one intent one payment. All live envelopes of an intent share one sequence number, and the network applies
 * one transaction for one number. Every time is a ledger's close time.
 *
 * | outcome stored                                      | outcome  |
 * | no envelope left                                    | fresh    |
 * | number unused, newest neither rejected nor past     | again    |
 * | number unused, all past their bounds                | fresh    |
 * | number unused, it is the next, fewer than 16 live   | replace  |
 * | number unused, else                                 | again; wait when the newest is past its bound |
 * | number used or no account: one applied              | outcome  |
 * | … one failed                                        | fresh    |
 * | … none found, one may be pruned                     | unknown  |
 * | … none found, no account, one within its bound      | unknown  |
 * | … none found                                        | fresh    |
 */
export function judge(intent: TransactionIntent | undefined, { account, lookedUp }: Known): Verdict {
  if (intent === undefined) return { kind: "fresh" };
  const { outcome, envelopes } = intent;
  if (outcome !== undefined) return { kind: "outcome", outcome };
  if (envelopes.length === 0) return { kind: "fresh" };
  if (account === undefined) return { kind: "read account" };
  if (isUnused(intent.sequence, account)) return whileUnused(intent, account);
  if (lookedUp === undefined) return { kind: "look up" };
  if (lookedUp.status === "applied") {
    const { hash, ledger, envelope } = lookedUp;
    return { kind: "outcome", outcome: { hash, ledger }, envelope };
  }
  if (lookedUp.status === "failed") return { kind: "fresh" };
  const [forgotten] = lookedUp.unknown;
  if (forgotten !== undefined) return { kind: "unknown", hash: forgotten, isPermanent: true };
  const [live] = account.sequence === undefined ? withinBound(envelopes, account) : [];
  return live === undefined ? { kind: "fresh" } : { kind: "unknown", hash: live.hash, isPermanent: false };
}

/** The verdict while the network has applied no envelope. */
function whileUnused({ sequence, envelopes, isRejected }: TransactionIntent, account: AccountAsOf): Verdict {
  const live = withinBound(envelopes, account);
  if (live.length === 0) return { kind: "fresh" };
  const isNewestLive = live[0] === envelopes[0];
  if (isNewestLive && !isRejected) return { kind: "again", live };
  const isNext = account.sequence! + 1n === BigInt(sequence);
  if (isNext && live.length < MAX_INTENT_ENVELOPES) return { kind: "replace", live };
  return { kind: isNewestLive ? "again" : "wait", live };
}

function isUnused(sequence: string, account: AccountAsOf): boolean {
  return account.sequence !== undefined && account.sequence < BigInt(sequence);
}

function withinBound(envelopes: IntentEnvelope[], { closedAt }: AccountAsOf): IntentEnvelope[] {
  return envelopes.filter(({ validUntil }) => closedAt <= validUntil);
}

/** An envelope to store. */
export interface NewEnvelope {
  hash: string;
  sequence: string;
  validUntil: number;
  /** Unsigned: the bytes of its XDR. */
  bytes: Uint8Array;
  warning?: string;
}

/** The intent with a new envelope. At `sinceLedger` its number was unused. */
export function withPrepared(
  request: string,
  { live }: { live: IntentEnvelope[] },
  { hash, sequence, validUntil, bytes, warning }: NewEnvelope,
  sinceLedger: number | undefined,
): TransactionIntent {
  const envelopes = [{ hash, validUntil, ...(sinceLedger === undefined ? {} : { sinceLedger }) }, ...live];
  return { request, sequence, envelope: bytes, warning, isRejected: false, envelopes };
}

/**
 * The intent with an envelope that a client submits for the same operation. The envelope joins when it has the sequence number
 * of the live ones, or when none is live. Otherwise it is `refused`. `full`: it may join when one passes its bound. `dead`: it
 * is past its own bound, so the network can never apply it.
 */
export function withBrought(
  request: string,
  intent: TransactionIntent | undefined,
  verdict: Extract<Verdict, { kind: "again" | "replace" | "wait" | "fresh" }>,
  envelope: NewEnvelope,
  account: AccountAsOf,
): TransactionIntent | "refused" | "full" | "dead" {
  const live = verdict.kind === "fresh" ? [] : verdict.live;
  const isKnownUnused = isUnused(envelope.sequence, account);
  if (live.length > 0 && intent!.sequence !== envelope.sequence) return "refused";
  if (isKnownUnused && account.closedAt > envelope.validUntil) return "dead";
  if (live.length === MAX_INTENT_ENVELOPES) return "full";
  return withPrepared(request, { live }, envelope, isKnownUnused ? account.ledger : undefined);
}

/** The intent with its outcome, and with the applied envelope where it is known. */
export function withOutcome(
  intent: TransactionIntent,
  { outcome, envelope }: Pick<Extract<Verdict, { kind: "outcome" }>, "outcome" | "envelope">,
): TransactionIntent {
  const isNewest = envelope === undefined || outcome.hash === intent.envelopes[0]?.hash;
  return isNewest ? { ...intent, outcome } : { ...intent, outcome, envelope, warning: undefined };
}

/** The intent without its dead envelopes. */
export function withoutEnvelopes(intent: TransactionIntent): TransactionIntent {
  return { ...intent, envelope: new Uint8Array(), warning: undefined, isRejected: false, envelopes: [] };
}
