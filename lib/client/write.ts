import type { CheckedEnvelope, SigningBounds } from "./envelope.ts";
import type { Operation, PreparedOperation, TrustedNetwork } from "./operation_call.ts";
import { type Connection, type Failure, type FailureReason, pause, present, type Result } from "./request.ts";
import type { Endpoints } from "./api_types.ts";

/** A key in memory: `Keypair` of the Stellar SDK. */
export interface SigningKey {
  publicKey(): string;
  sign(data: Uint8Array): Uint8Array;
}

/** Signs an envelope: a wallet (SEP-43, such as Freighter) or another place that holds the key. */
export type SignEnvelope = (
  xdr: string,
  about: { networkPassphrase: string; address: string; hash: string; operation: PreparedOperation },
) => SignedEnvelope | Promise<SignedEnvelope>;
/** The signed envelope in base64, or the answer of a wallet. */
export type SignedEnvelope = string | { signedTxXdr: string; error?: unknown };

export interface WriteOptions extends SigningBounds {
  /** The acting account, `G…`. A function needs it, and so does the key of another signer of the account. */
  source?: string;
  /**
   * The name of this intent, 1 to 255 visible characters; one of its own when absent. A program that may be killed
   * stores one first and uses it again. Then it never pays twice.
   */
  idempotencyKey?: string;
  /**
   * How many envelopes may be signed at most when earlier ones were overtaken; 4 by default. With 1 not even a gateway
   * that lies about that gets a second payment.
   */
  maxEnvelopes?: number;
  /**
   * Told what the gateway warns of before it is signed, as that the escrow of a card that is given up holds something:
   * for people. An error from here ends the write, and nothing is signed (`not_signed`).
   */
  onWarning?: (warning: string) => unknown;
  /** Ends the trying; the outcome may be unknown then. */
  signal?: AbortSignal;
}

export type Written =
  | {
    ok: true;
    hash: string;
    ledger: number;
    idempotencyKey: string;
    /** As it was asked for, without a nonce of the gateway's, when an earlier try went through whose envelope it no longer has. */
    operation: PreparedOperation;
  }
  | Omit<Failure, "reason"> & {
    reason:
      | FailureReason
      /** The prepared envelope differs from the request, and nothing was signed. */
      | "envelope_refused"
      /** The key's holder did not sign, or signed something else, or `onWarning` refused: nothing was sent. */
      | "not_signed"
      /** It was sent, and may or may not have been applied: write again with the same `idempotencyKey`. */
      | "outcome_unknown";
    idempotencyKey: string;
    /** Of the transaction that was signed last. */
    hash?: string;
  };

type NotWritten = Extract<Written, { ok: false }>;
type Prepared = Endpoints["POST /v1/transactions/prepare"]["answer"];
type Confirmed = Endpoints["POST /v1/transactions/submit"]["answer"];
type Status = Endpoints["GET /v1/transactions/:hash"]["answer"];
/** "again": another envelope may pass. "pending": this one may still be applied. "unknown": there was no answer. */
type Ended = { ok: true; hash: string; ledger: number } | Failure | "again" | "pending" | "unknown";

/** How often another envelope is prepared when one was refused for its sequence number. */
const MOST_ENVELOPES = 4;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;
/** How often a gateway that is away is asked for an envelope. */
const MOST_TRIES = 6;
/** The network may apply it for so long after its time bound, and our clock may be wrong by that much. */
const SLACK_SECONDS = 60;

/**
 * Writes an operation: prepares it, checks that the envelope does that operation and nothing else, signs and submits it, and
 * waits for the confirmation. Never throws.
 *
 *     prepare ──► check ──► sign ──► submit ──► confirmed
 *        ▲                             ├── refused for its sequence number, not applied, prepare again
 *        └─────────────────────────────┤
 *                                      └── no answer, ask for the outcome, submit the same again
 *
 * Only a refusal by the gateway ends a submitted envelope. A second one is never signed while the first may be applied. All
 * carry one `Idempotency-Key`, by which the gateway keeps the same rule.
 */
export async function write(
  connection: Connection,
  network: TrustedNetwork,
  operation: Operation,
  sign: SigningKey | SignEnvelope,
  options: WriteOptions = {},
): Promise<Written> {
  const { maxEnvelopes = MOST_ENVELOPES, signal } = options;
  // As a header `null` would be one name for all intents.
  const idempotencyKey = options.idempotencyKey ?? randomName();
  const source = options.source ?? (typeof sign === "function" ? undefined : sign.publicKey());
  const failed = (reason: NotWritten["reason"], message: string, hash?: string): NotWritten => ({
    ok: false,
    reason,
    message,
    retry: reason === "outcome_unknown" ? "same" : "never",
    idempotencyKey,
    ...(hash === undefined ? {} : { hash }),
  });
  if (source === undefined) return failed("not_signed", "options.source must name the account that signs, G…");
  /** The last envelope that was sent and turned down: another node may have it, and it may be applied all the same. */
  let turnedDown: string | undefined;
  const unlessRejected = (end: NotWritten): NotWritten =>
    turnedDown === undefined ? end : failed("outcome_unknown", end.message, turnedDown);
  /** A client that uses a key again may get the envelope of before. */
  async function unlessSent(end: NotWritten, hash: string): Promise<NotWritten> {
    if (turnedDown !== undefined || options.idempotencyKey === undefined) return unlessRejected(end);
    return await statusOf(hash) === "again" ? end : failed("outcome_unknown", end.message, hash);
  }

  for (let envelopes = 1;; envelopes++) {
    const prepared = await patiently(() =>
      connection.request<Prepared>("POST", "/v1/transactions/prepare", { source, operation }, {
        idempotencyKey,
        signal,
      })
    );
    if (!prepared.ok) {
      const end = { ...prepared, idempotencyKey };
      return isJudged(prepared) ? end : unlessRejected(end);
    }
    turnedDown ??= prepared.replaces;
    // By an earlier envelope, which the gateway no longer has: nothing is signed.
    if (prepared.status === "success" && prepared.xdr === undefined) {
      const hash = String(prepared.hash);
      const status = await statusOf(hash);
      return told(typeof status === "object" && status.ok ? status : "unknown", hash, operation as PreparedOperation);
    }
    const checked = await check(prepared);
    if ("ok" in checked) return checked;
    const { envelope, called } = checked;
    const { hash } = envelope;
    // An earlier try with this key went through; that it failed can only be said for a node that does not find it.
    if (prepared.status === "success") {
      const status = await statusOf(hash);
      return told(typeof status === "object" && status.ok ? status : "unknown", hash, called);
    }
    let signed: string;
    try {
      if (prepared.warning !== undefined) await options.onWarning?.(prepared.warning);
      signed = await signedBy(sign, envelope, { address: source, operation: called, network });
    } catch (error) {
      return await unlessSent(failed("not_signed", error instanceof Error ? error.message : String(error), hash), hash);
    }
    const ended = await submitUntilKnown(signed, envelope);
    if (ended !== "again") return told(ended, hash, called);
    turnedDown = hash;
    // NaN allows no more than one.
    if (!(envelopes < maxEnvelopes)) {
      return failed("outcome_unknown", `${envelopes} envelopes were refused for their sequence number`, hash);
    }
    await pause(FIRST_PAUSE_MS * envelopes, signal);
  }

  async function check(prepared: Prepared) {
    // Loaded here: who only reads does without the SDK.
    const [{ checkEnvelope }, { expectedCall, filledIn }] = await Promise.all([
      import("./envelope.ts"),
      import("./operation_call.ts"),
    ]);
    try {
      const called = filledIn(operation, prepared.operation as { nonce?: unknown });
      const envelope = checkEnvelope(prepared.xdr!, {
        networkPassphrase: network.networkPassphrase,
        source: source!,
        call: expectedCall(network, source!, called),
        bounds: options,
        nowSeconds: Date.now() / 1000,
      });
      return { envelope, called };
    } catch (error) {
      const end = failed("envelope_refused", error instanceof Error ? error.message : String(error));
      return await unlessSent(end, String(prepared.hash));
    }
  }

  /** Asks as long as asking again makes sense: nothing has been signed yet. */
  async function patiently<Answer>(ask: () => Promise<Result<Answer>>): Promise<Result<Answer>> {
    for (let tries = 1;; tries++) {
      const answer = await ask();
      if (answer.ok || answer.retry !== "same" || answer.reason === "rate_limited" || tries === MOST_TRIES) {
        return answer;
      }
      if (!await pause(pauseMs(tries), signal)) return answer;
    }
  }

  function statusOf(hash: string): Promise<Ended> {
    return connection.request<Status>("GET", `/v1/transactions/${hash}`, undefined, { signal }).then((answer) => {
      const status = about(hash, answer);
      if (!status.ok) return status.reason === "not_found" ? "again" : "unknown";
      if (status.status === "success") return { ok: true, hash, ledger: status.ledger ?? 0 };
      if (status.status === "pending") return "pending";
      return endedBadly(status);
    });
  }

  /** Submits until the outcome is known. "again": it was refused, and another envelope may pass. */
  async function submitUntilKnown(signed: string, { hash, validUntil }: CheckedEnvelope): Promise<Ended> {
    for (let tries = 1;; tries++) {
      const named = { idempotencyKey, signal };
      const answer = await connection.request<Confirmed>("POST", "/v1/transactions/submit", { xdr: signed }, named);
      const submitted = about(hash, answer);
      if (submitted.ok) return submitted;
      const status = await statusOf(hash);
      if (typeof status === "object" && status.ok) return status;
      if (submitted.retry !== "same") {
        // The network has rejected it, and the outcome of the envelope before was asked.
        if (isOvertaken(submitted) && status !== "unknown") return "again";
        return typeof status === "object" || status === "again" ? submitted : status;
      }
      if (typeof status === "object") return isOvertaken(status) ? "again" : status;
      const isOver = Date.now() / 1000 > validUntil + SLACK_SECONDS;
      if (isOver || !await pause(pauseMs(tries), signal)) return "unknown";
    }
  }

  function told(ended: Ended, hash: string, called: PreparedOperation): Written {
    if (typeof ended === "string") {
      return failed("outcome_unknown", `whether the transaction ${hash} was applied is not known yet`, hash);
    }
    if (!ended.ok) {
      const end = { ...ended, idempotencyKey, hash };
      // A failed transaction has used the sequence number of the rejected one.
      return ended.reason === "contract_refused" ? end : unlessRejected(end);
    }
    return { ok: true, hash, ledger: ended.ledger, idempotencyKey, operation: called };
  }
}

/** The answer, when it is about this transaction: something between may answer anything with 200. */
function about<Answer extends { hash: string }>(hash: string, answer: Result<Answer>): Result<Answer> {
  if (!answer.ok || answer.hash === hash) return answer;
  return { ok: false, reason: "not_a_gateway", message: `what answered does not speak of ${hash}`, retry: "same" };
}

/** Not `randomUUID`: pages that came over plain HTTP have none. */
function randomName(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Why a transaction failed or was rejected, as the answer to its submit says it. */
function endedBadly({ error, contractError, transactionError, reason: paymentReason, retry }: Status): Failure {
  return {
    ok: false,
    reason: contractError === undefined ? "invalid_request" : "contract_refused",
    message: error ?? "the network has refused the transaction",
    retry: retry ?? "never",
    ...present({ contractError, transactionError, paymentReason }),
  };
}

/** Whether the gateway has refused to prepare: it has looked before what became of those that were turned down. */
function isJudged({ reason, retry }: Failure): boolean {
  return retry === "never" && !["unauthorized", "insufficient_scope", "not_a_gateway"].includes(reason);
}

/** Another transaction of the source came first: this one can never be applied. */
function isOvertaken({ transactionError, retry }: Failure): boolean {
  return retry === "prepare_again" || transactionError === "txBadSeq";
}

async function signedBy(
  sign: SigningKey | SignEnvelope,
  envelope: CheckedEnvelope,
  { address, operation, network }: { address: string; operation: PreparedOperation; network: TrustedNetwork },
): Promise<string> {
  const { checkSigned, signEnvelope } = await import("./envelope.ts");
  if (typeof sign !== "function") return signEnvelope(envelope, sign.publicKey(), (data) => sign.sign(data));
  const { networkPassphrase } = network;
  const answer = await sign(envelope.xdr, { networkPassphrase, address, hash: envelope.hash, operation });
  if (typeof answer === "string") return checkSigned(answer, envelope);
  if (answer?.error) throw new Error(messageOf(answer.error));
  return checkSigned(answer?.signedTxXdr ?? "", envelope);
}

function messageOf(error: unknown): string {
  return typeof error === "object" && error !== null && "message" in error ? String(error.message) : String(error);
}

function pauseMs(tries: number): number {
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (tries - 1));
}
