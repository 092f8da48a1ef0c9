import { GatewayError } from "../../errors.ts";
import { freshRead } from "../fresh_read.ts";
import type { CallOptions } from "../rpc/nodes.ts";
import type { TransactionAnswer } from "../rpc/schemas.ts";
import { unsignedEnvelope } from "./envelope.ts";
import type { SubmissionLog } from "./submission_log.ts";
import { nodeXdr } from "./node_xdr.ts";
import { ASK_AGAIN_MS, type LookupParts } from "./transaction_lookup.ts";

/** The outcome of envelopes with one sequence number. */
export type LookedUpEnvelopes =
  /** `envelope`: its bytes without signatures, if a node has them. */
  | { status: "applied"; hash: string; ledger: number; envelope?: Uint8Array }
  | { status: "failed" }
  /** `unknown`: hashes that may be in a ledger that a node no longer holds. */
  | { status: "missing"; unknown: string[] };

/** An envelope that any client may have sent. `sinceLedger`: a ledger at which its sequence number was unused. */
interface Sought {
  hash: string;
  sinceLedger?: number;
}

interface Answered {
  answer: TransactionAnswer;
  node: number;
}

/**
 * Looks up envelopes that use one sequence number, newest first: in the submission log, then at nodes that show this
 * ledger or a later one. An envelope is missing only after two answers, of two nodes if there are two. Costs at most
 * two calls an envelope.
 */
export async function lookUpEnvelopes(
  parts: LookupParts & { submissionLog: SubmissionLog },
  envelopes: Sought[],
  ledger: number,
): Promise<LookedUpEnvelopes> {
  const noted = await Promise.all(envelopes.map(({ hash }) => endNoted(parts.submissionLog, hash)));
  const known = noted.find((one) => one !== undefined);
  if (known !== undefined) {
    return known.status === "failed" ? known : { ...known, envelope: await envelopeOf(parts, known.hash, ledger) };
  }
  const first: Answered[] = [];
  for (const { hash } of envelopes) {
    const one = await ask(parts, hash, ledger);
    const end = endIn(hash, one.answer);
    if (end !== undefined) return end;
    first.push(one);
  }
  await parts.clock.wait(ASK_AGAIN_MS);
  const second = await Promise.all(envelopes.map(({ hash }, n) => askAnother(parts, hash, ledger, first[n]!.node)));
  const ends = envelopes.map(({ hash }, n) => endIn(hash, second[n]!.answer));
  const end = ends.find((one) => one !== undefined);
  if (end !== undefined) return end;
  const holdAll = ({ sinceLedger }: Sought, n: number) =>
    sinceLedger !== undefined &&
    [first[n]!, second[n]!].every(({ answer }) => answer.oldestLedger <= sinceLedger + 1);
  return { status: "missing", unknown: envelopes.filter((one, n) => !holdAll(one, n)).map(({ hash }) => hash) };
}

async function endNoted(
  submissionLog: SubmissionLog,
  hash: string,
): Promise<Exclude<LookedUpEnvelopes, { status: "missing" }> | undefined> {
  const outcome = (await submissionLog.get(hash))?.outcome;
  if (outcome?.ledger !== undefined) {
    return outcome.status === "success" ? { status: "applied", hash, ledger: outcome.ledger } : { status: "failed" };
  }
  const ledger = await submissionLog.ledgerOf(hash);
  return ledger === undefined ? undefined : { status: "applied", hash, ledger };
}

function endIn(hash: string, answer: TransactionAnswer): Exclude<LookedUpEnvelopes, { status: "missing" }> | undefined {
  if (answer.status === "NOT_FOUND") return undefined;
  if (answer.status !== "SUCCESS") return { status: "failed" };
  return { status: "applied", hash, ledger: answer.ledger!, envelope: bytesIn(answer) };
}

function bytesIn({ envelopeXdr }: TransactionAnswer): Uint8Array | undefined {
  return envelopeXdr === undefined ? undefined : nodeXdr("envelopeXdr", () => unsignedEnvelope(envelopeXdr));
}

/** The bytes of an applied envelope, if a node has them. */
async function envelopeOf(parts: LookupParts, hash: string, ledger: number): Promise<Uint8Array | undefined> {
  return await ask(parts, hash, ledger).then(({ answer }) => bytesIn(answer), () => undefined);
}

async function ask(parts: LookupParts, hash: string, ledger: number, at?: number): Promise<Answered> {
  let node = 0;
  const answer = await freshRead(parts, (options) => {
    const answered: CallOptions["answered"] = (by, verdict) => {
      node = by;
      options.answered?.(by, verdict);
    };
    return parts.rpc.getTransaction(hash, { ...options, node: at ?? options.node, answered });
  });
  if (answer.latestLedger >= ledger) return { answer, node };
  throw new GatewayError(
    "upstream_error",
    `the RPC node lags: it shows ledger ${answer.latestLedger}, while ledger ${ledger} has been seen`,
  );
}

async function askAnother(parts: LookupParts, hash: string, ledger: number, than: number): Promise<Answered> {
  const { nodes = 1 } = parts;
  const second = await ask(parts, hash, ledger, (than + 1) % nodes);
  if (nodes === 1 || second.node !== than || second.answer.status !== "NOT_FOUND") return second;
  throw new GatewayError(
    "upstream_error",
    `one RPC node does not find transaction ${hash}, and no other one answers; retry in a moment`,
  );
}
