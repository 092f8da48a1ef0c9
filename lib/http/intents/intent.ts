import { type IntentEnvelope, MAX_INTENT_ENVELOPES, type TransactionIntent } from "../../store/transaction_intent.ts";

/** The source account, as of one ledger. */
export interface AccountAsOf {
  ledger: number;
  /** The last sequence number that it used; undefined: there is no such account. */
  sequence: bigint | undefined;
  /** When a ledger not above `ledger` closed, Unix seconds; 0: none is known. */
  closedAt: number;
}

/** What ledgers hold of the envelopes of an intent. */
export type LookedUp =
  /** One was applied with success; `envelope`: its bytes, unsigned, where a node has them. */
  | { status: "applied"; hash: string; ledger: number; envelope?: Uint8Array }
  /** One was applied without success: it has used the sequence number of all. */
  | { status: "failed" }
  /** None was found. `unknown`: those that may be in a ledger that a node no longer holds. */
  | { status: "missing"; unknown: string[] };

/** What the rule goes by. */
export interface Known {
  account?: AccountAsOf;
  lookedUp?: LookedUp;
}

/** What can be done about an intent. `live`: its envelopes that may still be applied, newest first. */
export type Verdict =
  /** The account has to be read, or the envelopes looked up, before anything else is known. */
  | { kind: "read account" | "look up" }
  /** One was applied with success, which is so for good; `envelope` as in `LookedUp`. */
  | { kind: "outcome"; outcome: { hash: string; ledger: number }; envelope?: Uint8Array }
  /** The newest may still be applied: it is answered again. */
  | { kind: "again"; live: IntentEnvelope[] }
  /** The newest was turned down or is past its bound: another replaces it, with the same sequence number. */
  | { kind: "replace"; live: IntentEnvelope[] }
  /** The newest is past its bound and may not be replaced, until all are. */
  | { kind: "wait"; live: IntentEnvelope[] }
  /** Nobody can tell about this one now; `isForGood`: nor later. */
  | { kind: "unknown"; hash: string; isForGood: boolean }
  /** None will ever be applied: a fresh one may be made. */
  | { kind: "fresh" };

/**
 * The rule by which one intent is one payment. All envelopes of an intent that may still be applied use one sequence number, and
 * the network applies one transaction for one number. Every time is a ledger's close time.
 *
 * | outcome kept                                        | outcome  |
 * | no envelope left                                    | fresh    |
 * | number unused, newest neither refused nor past      | again    |
 * | number unused, all past their bounds                | fresh    |
 * | number unused, it is the next, fewer than 16 live   | replace  |
 * | number unused, else                                 | again; wait when the newest is past its bound |
 * | number used or no account: one applied              | outcome  |
 * | … one failed                                        | fresh    |
 * | … none found, one may have been forgotten           | unknown  |
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
  if (forgotten !== undefined) return { kind: "unknown", hash: forgotten, isForGood: true };
  const [live] = account.sequence === undefined ? withinBound(envelopes, account) : [];
  return live === undefined ? { kind: "fresh" } : { kind: "unknown", hash: live.hash, isForGood: false };
}

/** None is applied yet. */
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

/** An envelope that is about to be kept. */
export interface NewEnvelope {
  hash: string;
  sequence: string;
  validUntil: number;
  /** Unsigned: the bytes of its XDR. */
  bytes: Uint8Array;
  warning?: string;
}

/** The intent with an envelope that prepare made; `sinceLedger`: a ledger at which its number was unused. */
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
 * The intent with an envelope that a client brings, which does the same. It joins when its sequence number is that of the live
 * ones, or when none is live. `refused`: it does not. `full`: it may join once one is past its bound. `dead`: it need not, for
 * it is past its own bound, and will never be applied.
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

/** The intent with its outcome, and with the envelope that was applied, as far as that is known. */
export function withOutcome(
  intent: TransactionIntent,
  { outcome, envelope }: Pick<Extract<Verdict, { kind: "outcome" }>, "outcome" | "envelope">,
): TransactionIntent {
  const isNewest = envelope === undefined || outcome.hash === intent.envelopes[0]?.hash;
  return isNewest ? { ...intent, outcome } : { ...intent, outcome, envelope, warning: undefined };
}

/** The intent when none of its envelopes will ever be applied. */
export function withoutEnvelopes(intent: TransactionIntent): TransactionIntent {
  return { ...intent, envelope: new Uint8Array(), warning: undefined, isRejected: false, envelopes: [] };
}
