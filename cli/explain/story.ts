import { isoSeconds, isoTime } from "../../lib/clock.ts";
import { assetId } from "../../lib/escrow/assets/asset_list.ts";
import { publicPayment } from "../../lib/escrow/payments/payment_reads.ts";
import { unitsOf } from "../../lib/http/exported_list.ts";
import { resultCode } from "../../lib/stellar/transactions/results.ts";
import { rejection } from "../../lib/stellar/transactions/rejections.ts";
import type { TransactionAnswer } from "../../lib/stellar/rpc/schemas.ts";
import type { LoggedEvent } from "../../lib/store/event.ts";
import type { StoredPayment } from "../../lib/store/payment.ts";
import type { Submission, SubmissionOutcome } from "../../lib/store/submission.ts";
import type { SubmittedTransaction } from "../../lib/store/transaction.ts";
import type { StoreAndNode } from "../store_and_node.ts";
import { storedLedgers } from "../stored_ledgers.ts";
import { addDeliveries } from "./deliveries.ts";
import { adviceOn, type RefusalNames } from "./refusal_advice.ts";
import { createTimeline, type Money, type Refusal, type Step, type Story, type Timeline } from "./step.ts";

/** A transaction has fewer, but a stranger's contract may make many. */
const MOST_EVENTS = 100;
/** A claim takes fewer: the network bounds the entries of a transaction. */
const MOST_COLLECTED = 1_000;

export interface StoryParts extends Pick<StoreAndNode, "store" | "node" | "networkPassphrase"> {
  keyName(id: string): Promise<string | null>;
}

/** The story of a transaction. Undefined when neither the store nor the node knows it. */
export async function storyOf(parts: StoryParts, hash: string): Promise<Story | undefined> {
  const { store, node } = parts;
  const [given, sent, submission, events, onNetwork] = await Promise.all([
    store.references.find([hash]),
    store.transactions.find([hash]),
    store.submissions.get(hash),
    store.events.read({ filter: { txHash: hash }, withOwn: true, order: "asc", limit: MOST_EVENTS }),
    askNode(parts, hash),
  ]);
  const isFound = onNetwork !== undefined && onNetwork.status !== "NOT_FOUND";
  if (given.length + sent.length + events.length === 0 && submission === undefined && !isFound) return undefined;
  const timeline = createTimeline();
  let last = -Infinity;
  for (const { keyId, reference, preparedAtMs } of given) {
    const keyName = await parts.keyName(keyId);
    last = timeline.add({ at: isoTime(preparedAtMs), step: "prepared", keyId, keyName, reference }, last);
  }
  for (const step of await sentSteps(parts, sent, submission)) last = timeline.add(step, last);
  last = timeline.add(await outcomeOf(hash, { sent, submission, events, onNetwork }, await node.problem()), last);
  const moneyOf = createMoney(parts);
  const places = new Map<LoggedEvent, number>();
  for (const event of events) {
    places.set(event, timeline.add(await eventStep(event, moneyOf), last));
    if (event.type === "payment.claimed") await addCollected(parts, event, timeline, last);
  }
  await addDeliveries(store, places, timeline);
  const ledgers = await storedLedgers(store);
  const payments: Story["payments"] = [];
  for (const { id, type } of events) {
    const row = type === "payment.authorized" ? await store.payments.get(id) : undefined;
    if (row === undefined) continue;
    const { reference: _, idempotencyKey: __, ...payment } = publicPayment(row, ledgers);
    payments.push({ ...payment, ...await moneyOf(row.amount, row.asset) });
    const isTold = events.some((one) => one.type === "payment.expired" && one.payment?.of === id);
    if (!isTold) addState(row, payment.expiresAt, timeline, last);
  }
  return { hash, payments, steps: timeline.steps(), nodeProblem: await node.problem() ?? null };
}

/** The node's answer about a transaction; undefined when no node answers. */
async function askNode({ node }: Pick<StoryParts, "node">, hash: string): Promise<TransactionAnswer | undefined> {
  if (await node.problem() !== undefined) return undefined;
  return await node.rpc.getTransaction(hash).catch(() => undefined);
}

/** One step for each API key. The inner transaction of a fee bump has only a submission. */
async function sentSteps(
  { keyName }: StoryParts,
  sent: SubmittedTransaction[],
  submission: Submission | undefined,
): Promise<Step[]> {
  const validUntil = validUntilOf(submission);
  if (sent.length === 0) {
    if (submission === undefined) return [];
    const { source = null, submittedAtMs } = submission;
    const unknown = { keyId: null, keyName: null, kind: null, idempotencyKey: null };
    return [{ at: isoTime(submittedAtMs), step: "sent", ...unknown, source, validUntil }];
  }
  const inOrder = sent.toSorted((one, other) => one.submittedAtMs - other.submittedAtMs);
  return await Promise.all(inOrder.map(async ({ keyId, kind, source, idempotencyKey = null, submittedAtMs }) => {
    const by = { keyId, keyName: await keyName(keyId) };
    return { at: isoTime(submittedAtMs), step: "sent" as const, ...by, kind, source, idempotencyKey, validUntil };
  }));
}

function validUntilOf(submission: Submission | undefined): string | null {
  return submission === undefined ? null : isoSeconds(submission.validUntil * 1_000);
}

/** The keys' records outlive the submission, without the error. */
function storedOutcome(
  [record]: SubmittedTransaction[],
  submission: Submission | undefined,
): SubmissionOutcome | undefined {
  if (submission !== undefined || record === undefined || record.status === "pending") return submission?.outcome;
  return { status: record.status, ledger: record.ledger };
}

async function outcomeOf(
  hash: string,
  { sent, submission, events, onNetwork }: {
    sent: SubmittedTransaction[];
    submission: Submission | undefined;
    events: LoggedEvent[];
    onNetwork: TransactionAnswer | undefined;
  },
  nodeProblem: string | undefined,
): Promise<Step> {
  const outcome = storedOutcome(sent, submission);
  const seen = onNetwork?.status === "NOT_FOUND" ? undefined : onNetwork;
  const closedAt = events[0]?.ledgerClosedAt ??
    (seen?.createdAt === undefined ? null : isoSeconds(seen.createdAt * 1_000));
  const ledger = outcome?.ledger ?? events[0]?.ledger ?? seen?.ledger;
  if (outcome !== undefined && outcome.status !== "success") {
    const refusal = await refusalOf(outcome.error ?? {});
    if (outcome.status === "rejected") return { at: null, step: "rejected", refusal };
    return { at: closedAt, step: "failed", ledger: outcome.ledger ?? null, refusal };
  }
  if (seen?.status === "FAILED") {
    const { code, message, retry, transactionError } = rejection(resultCode(seen.resultXdr!), hash, seen.ledger);
    const refusal = await refusalOf({ code, message, retry, transactionError: transactionError! });
    return { at: closedAt, step: "failed", ledger: ledger!, refusal };
  }
  if (ledger !== undefined) return { at: closedAt, step: "applied", ledger };
  const asked = onNetwork === undefined
    ? `no node answers: ${nodeProblem}`
    : `the node does not have it in its ledgers ${onNetwork.oldestLedger} to ${onNetwork.latestLedger}`;
  const isSent = submission !== undefined || sent.length > 0;
  return { at: null, step: "unresolved", isSent, validUntil: validUntilOf(submission), why: asked };
}

async function refusalOf(error: RefusalNames & { message?: string; retry?: string }): Promise<Refusal> {
  const { code = null, message = "the store does not say why", reason = null, retry = null } = error;
  const { contractError = null, transactionError = null } = error;
  return { code, message, reason, contractError, transactionError, retry, advice: await adviceOn(error) ?? null };
}

async function eventStep(event: LoggedEvent, moneyOf: MoneyReader): Promise<Step> {
  const { id, type, ledger, ledgerClosedAt, deviceHash = null, merchant = null, agent = null, amount, asset } = event;
  const money = amount === undefined ? {} : await moneyOf(amount, asset);
  return { at: ledgerClosedAt, step: "event", id, type, ledger, deviceHash, merchant, agent, ...money };
}

/** Adds the payments that a claim took: those of its merchant that name it. */
async function addCollected(
  { store }: StoryParts,
  { id, merchant, ledgerClosedAt }: LoggedEvent,
  timeline: Timeline,
  after: number,
): Promise<void> {
  const to = Date.parse(ledgerClosedAt) / 1_000 + 1;
  const filter = { merchant, state: "claimed", to } as const;
  const rows = await store.payments.list({ filter, order: "desc", limit: MOST_COLLECTED });
  const payments = rows.filter(({ claim }) => claim?.eventId === id).map((row) => row.id).reverse();
  const isMore = rows.length === MOST_COLLECTED && rows.at(-1)!.claim?.eventId === id;
  timeline.add({ at: ledgerClosedAt, step: "collected", payments, isMore }, after);
}

function addState(row: StoredPayment, expiresAt: string | null, timeline: Timeline, after: number): void {
  const { id: paymentId, state, claim, expired, expiresAtLedger } = row;
  if (state === "claimed" && claim !== undefined) {
    const { ledger, txHash, claimedAt } = claim;
    timeline.add({ at: isoSeconds(claimedAt * 1_000), step: "claimed", paymentId, ledger, txHash }, after);
  } else if (state === "expired" && expired !== undefined) {
    timeline.add({ at: isoSeconds(expired.at * 1_000), step: "expired", paymentId, ledger: expired.ledger }, after);
  } else if (state === "unknown") timeline.add({ at: null, step: "unknown", paymentId }, Infinity);
  else timeline.add({ at: null, step: "pending", paymentId, expiresAtLedger, expiresAt }, Infinity);
}

type MoneyReader = (amount: string, asset?: string) => Promise<Money>;

/** Reads each asset once. Lumens need no node. */
function createMoney({ node, networkPassphrase }: StoryParts): MoneyReader {
  const lumens = { symbol: "XLM", decimals: 7 };
  const known = new Map([[assetId("native", networkPassphrase), Promise.resolve<typeof lumens | undefined>(lumens)]]);
  return async function moneyOf(amount, asset) {
    if (asset === undefined) return { amount, amountUnits: null, asset: null, symbol: null };
    if (!known.has(asset)) known.set(asset, node.assets(asset).catch(() => undefined));
    const { symbol = null, decimals = null } = await known.get(asset) ?? {};
    return { amount, amountUnits: unitsOf(new Map([[asset, decimals]]))(amount, asset), asset, symbol };
  };
}
