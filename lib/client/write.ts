import type { CheckedEnvelope, SigningBounds } from "./envelope.ts";
import type { Operation, PreparedOperation, TrustedNetwork } from "./operation_call.ts";
import { type Connection, type Failure, type FailureReason, pause, present, type Result } from "./request.ts";
import type { Endpoints } from "./api_types.ts";

/** A key in memory: `Keypair` of the Stellar SDK. */
export interface SigningKey {
  publicKey(): string;
  sign(data: Uint8Array): Uint8Array;
}

/** Signs an envelope in a wallet (SEP-43: Freighter and others), or wherever the key is. */
export type SignEnvelope = (
  xdr: string,
  about: { networkPassphrase: string; address: string; hash: string; operation: PreparedOperation },
) => SignedEnvelope | Promise<SignedEnvelope>;
/** The signed envelope, base64, or a wallet's answer. */
export type SignedEnvelope = string | { signedTxXdr: string; error?: unknown };

export interface WriteOptions extends SigningBounds {
  /** The acting account, `G…`. Needed with a signing function, and with the key of another signer of the account. */
  source?: string;
  /**
   * The key of this intent, 1 to 255 visible characters; random when absent. To survive a crash, store the key before the
   * write, and write again with the same key: the gateway does not pay twice.
   */
  idempotencyKey?: string;
  /**
   * Your own name of the transaction, 1 to 128 printable ASCII characters. Your API key sees it in events and webhooks. A later
   * write with the same `idempotencyKey` needs the same one.
   */
  reference?: string;
  /**
   * The most envelopes to sign, when the gateway reports that another transaction used the sequence number; 4 when absent.
   * With 1, even a gateway with a false report gets no second payment.
   */
  maxEnvelopes?: number;
  /**
   * Called with the gateway's warning before the signature, for example that a revoked card's escrow still holds money. The
   * text is for people. When this throws or rejects, nothing is signed and the write ends with `not_signed`.
   */
  onWarning?: (warning: string) => unknown;
  /** Ends the write; its outcome may then be unknown. */
  signal?: AbortSignal;
}

export type Written =
  | {
    ok: true;
    hash: string;
    ledger: number;
    idempotencyKey: string;
    /** Without the gateway's nonce when an earlier try succeeded whose envelope the gateway no longer has. */
    operation: PreparedOperation;
  }
  | Omit<Failure, "reason"> & {
    reason:
      | FailureReason
      /** The prepared envelope is not the requested operation: nothing was signed. */
      | "envelope_refused"
      /** The signer did not sign, or signed another transaction, or `onWarning` refused: nothing was sent. */
      | "not_signed"
      /** It was sent, and the outcome is unknown: write again with the same `idempotencyKey`. */
      | "outcome_unknown";
    idempotencyKey: string;
    /** The hash of the last signed transaction. */
    hash?: string;
  };

type NotWritten = Extract<Written, { ok: false }>;
type Prepared = Endpoints["POST /v1/transactions/prepare"]["answer"];
type Confirmed = Endpoints["POST /v1/transactions/submit"]["answer"];
type Status = Endpoints["GET /v1/transactions/:hash"]["answer"];
/** `again`: another envelope may succeed. `pending`: this one may still be applied. `unknown`: no answer. */
type Ended = { ok: true; hash: string; ledger: number } | Failure | "again" | "pending" | "unknown";

/** The most envelopes of one write, when their sequence numbers are used. */
const MOST_ENVELOPES = 4;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;
/** The most prepares at a gateway that does not answer. */
const MOST_TRIES = 6;
/** How long after the time bound the network may still apply it, by a clock that may be wrong. */
const SLACK_SECONDS = 60;

/**
 * Does an operation. Prepares it, checks that the envelope is that operation only, signs and submits it, and waits for the
 * network's confirmation. Never throws.
 *
 *     prepare ──► check ──► sign ──► submit ──► confirmed
 *        ▲                             ├── sequence number used, not applied
 *        └─────────────────────────────┤
 *                                      └── no answer: read the status, submit the same again
 *
 * Signs another envelope only after the gateway reports that the network rejected the one before. All requests carry one
 * `Idempotency-Key`, and the gateway keeps the same rule for that key.
 */
export async function write(
  connection: Connection,
  network: TrustedNetwork,
  operation: Operation,
  sign: SigningKey | SignEnvelope,
  options: WriteOptions = {},
): Promise<Written> {
  const { maxEnvelopes = MOST_ENVELOPES, reference, signal } = options;
  // In a header, `null` would be the text "null", one key for all intents.
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
  /** The last rejected envelope. Another node may still have it, so the network may apply it. */
  let rejectedHash: string | undefined;
  const unknownIfRejected = (end: NotWritten): NotWritten =>
    rejectedHash === undefined ? end : failed("outcome_unknown", end.message, rejectedHash);
  /** With a key used before, the prepared envelope may be one that the client already sent. */
  async function unknownIfSent(end: NotWritten, hash: string): Promise<NotWritten> {
    if (rejectedHash !== undefined || options.idempotencyKey === undefined) return unknownIfRejected(end);
    return await statusOf(hash) === "again" ? end : failed("outcome_unknown", end.message, hash);
  }

  for (let envelopes = 1;; envelopes++) {
    const prepared = await patiently(() =>
      connection.request<Prepared>("POST", "/v1/transactions/prepare", { source, operation, reference }, {
        idempotencyKey,
        signal,
      })
    );
    if (!prepared.ok) {
      const end = { ...prepared, idempotencyKey };
      return isJudged(prepared) ? end : unknownIfRejected(end);
    }
    rejectedHash ??= prepared.replaces;
    // An earlier envelope succeeded, which the gateway no longer has: nothing is signed.
    if (prepared.status === "success" && prepared.xdr === undefined) {
      const hash = String(prepared.hash);
      const status = await statusOf(hash);
      return written(
        typeof status === "object" && status.ok ? status : "unknown",
        hash,
        operation as PreparedOperation,
      );
    }
    const checked = await check(prepared);
    if ("ok" in checked) return checked;
    const { envelope, called } = checked;
    const { hash } = envelope;
    // An earlier try with this key succeeded. A status of "not found" only means that a node lacks it.
    if (prepared.status === "success") {
      const status = await statusOf(hash);
      return written(typeof status === "object" && status.ok ? status : "unknown", hash, called);
    }
    let signed: string;
    try {
      if (prepared.warning !== undefined) await options.onWarning?.(prepared.warning);
      signed = await signedBy(sign, envelope, { address: source, operation: called, network });
    } catch (error) {
      return await unknownIfSent(
        failed("not_signed", error instanceof Error ? error.message : String(error), hash),
        hash,
      );
    }
    const ended = await submitUntilKnown(signed, envelope);
    if (ended !== "again") return written(ended, hash, called);
    rejectedHash = hash;
    // Negated, so that NaN allows one only.
    if (!(envelopes < maxEnvelopes)) {
      return failed("outcome_unknown", `${envelopes} envelopes were refused for their sequence number`, hash);
    }
    await pause(FIRST_PAUSE_MS * envelopes, signal);
  }

  async function check(prepared: Prepared) {
    // Loaded here, so that clients that only read do not need the SDK.
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
      return await unknownIfSent(end, String(prepared.hash));
    }
  }

  /** Retries while a retry can help; nothing is signed yet. */
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

  /** Submits until the outcome is known; `again` when the network rejected it and another envelope may succeed. */
  async function submitUntilKnown(signed: string, { hash, validUntil }: CheckedEnvelope): Promise<Ended> {
    for (let tries = 1;; tries++) {
      const named = { idempotencyKey, signal };
      const answer = await connection.request<Confirmed>("POST", "/v1/transactions/submit", { xdr: signed }, named);
      const submitted = about(hash, answer);
      if (submitted.ok) return submitted;
      const status = await statusOf(hash);
      if (typeof status === "object" && status.ok) return status;
      if (submitted.retry !== "same") {
        // The network rejected it, and the status shows whether it was applied before.
        if (isOvertaken(submitted) && status !== "unknown") return "again";
        return typeof status === "object" || status === "again" ? submitted : status;
      }
      if (typeof status === "object") return isOvertaken(status) ? "again" : status;
      const isOver = Date.now() / 1000 > validUntil + SLACK_SECONDS;
      if (isOver || !await pause(pauseMs(tries), signal)) return "unknown";
    }
  }

  function written(ended: Ended, hash: string, called: PreparedOperation): Written {
    if (typeof ended === "string") {
      return failed("outcome_unknown", `whether the transaction ${hash} was applied is not known yet`, hash);
    }
    if (!ended.ok) {
      const end = { ...ended, idempotencyKey, hash };
      // A failure in a ledger used the sequence number, so the rejected envelope can no longer be applied.
      return ended.reason === "contract_refused" ? end : unknownIfRejected(end);
    }
    return { ok: true, hash, ledger: ended.ledger, idempotencyKey, operation: called };
  }
}

/** The answer, if it is about this transaction: a proxy may answer anything with 200. */
function about<Answer extends { hash: string }>(hash: string, answer: Result<Answer>): Result<Answer> {
  if (!answer.ok || answer.hash === hash) return answer;
  return { ok: false, reason: "not_a_gateway", message: `the answer is not about transaction ${hash}`, retry: "same" };
}

/** Without `randomUUID`, which pages over plain HTTP lack. */
function randomName(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The failure of a failed or rejected transaction, as the answer to its submit has it. */
function endedBadly({ error, contractError, transactionError, reason: paymentReason, retry }: Status): Failure {
  return {
    ok: false,
    reason: contractError === undefined ? "invalid_request" : "contract_refused",
    message: error ?? "the network has refused the transaction",
    retry: retry ?? "never",
    ...present({ contractError, transactionError, paymentReason }),
  };
}

/** Whether the gateway refused to prepare. It first checks the outcome of rejected envelopes, so the refusal is final. */
function isJudged({ reason, retry }: Failure): boolean {
  return retry === "never" && !["unauthorized", "insufficient_scope", "not_a_gateway"].includes(reason);
}

/** Whether another transaction of the source used the sequence number, so that this one can never be applied. */
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
