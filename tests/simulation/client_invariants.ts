import { LIMITS } from "../../lib/stellar/observe.ts";
import { type Client, HEED_MS } from "./client.ts";
import type { CardReader, ShownCard } from "./card_reader.ts";
import type { Payer } from "./payer.ts";
import type { Site } from "./site.ts";
import type { StreamReader } from "./stream_reader.ts";

/** A payment is made by then while all is well and ledgers close: one submit may wait in vain for what the network has lost. */
const PAID_MS = 95_000;

/** What tells whether a gateway could know. */
type Witnesses = Pick<Site, "climate" | "time" | "told" | "misnamed">;

/** What a key was let in for that was disabled from well before the question until the answer. */
export function checkRefusals({ admitted, switched, keyId }: Client, broken: string[]): void {
  for (const { askedMs, answeredMs } of admitted) {
    const last = switched.findLast(({ atMs }) => atMs <= answeredMs);
    if (last?.enabled !== false || askedMs - last.atMs <= 2 * HEED_MS) continue;
    broken.push(`key ${keyId} was let in ${askedMs - last.atMs} ms after it was disabled`);
  }
}

/**
 * What was told on the live stream of a key that was disabled from well before: it is heeded where the store says so at once
 * and no gateway stands still.
 */
export function checkStream({ climate }: Site, { client, heardMs, name }: StreamReader, broken: string[]): void {
  const { stall, storeFault } = climate.troubles;
  if (stall + storeFault > 0 || climate.misfortunes.some(([what]) => what === "pause" || what === "ambush")) return;
  for (const atMs of heardMs) {
    const last = client.switched.findLast((one) => one.atMs <= atMs);
    if (last?.enabled !== false || atMs - last.atMs <= 2 * HEED_MS) continue;
    return void broken.push(`${name} went on ${atMs - last.atMs} ms after its key was disabled`);
  }
}

/** Over any time no more was let through, from question to answer, than the bucket held and got. */
export function checkLimit({ climate, time }: Site, client: Client, broken: string[]): void {
  // By the store's clock buckets are refilled: when that is set ahead, time has passed.
  if (time.wasMoved || client.admitted.length <= client.rate) return;
  // One that has the store for itself counts in memory, and writes once a second.
  const lives = climate.isShared ? [client.admitted] : Map.groupBy(client.admitted, ({ machine }) => machine).values();
  for (const admitted of lives) {
    const excess = excessOf(admitted, client.rate);
    if (excess !== undefined) return void broken.push(`key ${client.keyId} was let through ${excess}`);
  }
}

function excessOf(admitted: Client["admitted"], rate: number): string | undefined {
  for (const { askedMs: fromMs } of admitted) {
    const answers = admitted.filter(({ askedMs }) => askedMs >= fromMs).map(({ answeredMs }) => answeredMs);
    for (const [before, toMs] of answers.toSorted((a, b) => a - b).entries()) {
      const most = rate + ((toMs - fromMs) * rate) / 60_000;
      // What a machine may spend goes by its own clock, which is off by up to two thousandths.
      if (before + 1 > most * 1.002 + 1) return `${before + 1} times in ${toMs - fromMs} ms, of ${most}`;
    }
  }
  return undefined;
}

/** Nothing is shown that is no more, and in the end all are shown what is. */
export function checkCards(site: Site, readers: CardReader[], payers: Payer[], broken: string[]): void {
  const shown = readers.flatMap((reader) => reader.shown);
  checkBackSteps(site, shown, payers.flatMap(({ confirmed }) => confirmed), broken);
  for (const reader of readers) {
    const last = reader.shown.at(-1);
    const isShown = last !== undefined && last.latest - last.ledger <= 1 && site.world.nowMs - last.answeredMs < 10_000;
    if (!isShown) broken.push(`cards are not shown as they are: ${JSON.stringify(last)} at ${site.world.nowMs}`);
  }
}

/**
 * What one gateway has shown or confirmed it does not show as of an older ledger to who asks later, and what was confirmed
 * nor does any other, while a node speaks of the newer one; nobody is shown what never was.
 */
export function checkBackSteps(
  site: Witnesses,
  shown: ShownCard[],
  confirmed: Payer["confirmed"],
  broken: string[],
): void {
  for (const { machine, ledger, latest, askedMs, answeredMs } of shown) {
    if (ledger > latest) broken.push(`${machine} showed a card as of ledger ${ledger}, of ${latest}`);
    const known = [
      ...confirmed.filter((one) => one.machine === machine || isHeardByAll(site, askedMs - one.answeredMs)),
      ...shown.filter((one) => one.machine === machine),
    ];
    const newer = known.find((one) =>
      one.ledger > ledger && one.answeredMs < askedMs && isSpokenOf(site, machine, one, answeredMs)
    );
    if (newer === undefined) continue;
    const after = `${Math.round(askedMs - newer.answeredMs)} ms after ${newer.machine} knew ${newer.ledger}`;
    return void broken.push(`${machine} showed a card as of ledger ${ledger} at ${Math.round(askedMs)}, ${after}`);
  }
}

/**
 * Whether nodes went on to tell that gateway of a ledger that was known then: a head that none has shown for 30 s falls, and
 * what was shown before is no measure any more.
 */
function isSpokenOf(
  { told, misnamed }: Witnesses,
  machine: string,
  known: { ledger: number; answeredMs: number },
  untilMs: number,
): boolean {
  // It may have been shown as of another ledger, which nobody has spoken of.
  if (misnamed.has(`${machine} ${known.ledger}`)) return false;
  const times = (told.get(machine) ?? [])
    .filter(({ ledger, atMs }) => ledger >= known.ledger && atMs < untilMs)
    .map(({ atMs }) => atMs);
  if (times.length === 0) return false;
  const first = Math.max(0, times.findLastIndex((atMs) => atMs <= known.answeredMs));
  return [...times.slice(first + 1), untilMs].every((atMs, n) => atMs - times[first + n]! < LIMITS.laggingMs);
}

/** Whether all gateways know by then what one has confirmed. */
function isHeardByAll({ climate, time }: Witnesses, afterMs: number): boolean {
  const { stall, storeFault } = climate.troubles;
  const mayBeDeaf = stall + storeFault > 0 || time.wasMoved ||
    climate.misfortunes.some(([what]) => what === "pause" || what === "ambush");
  return climate.isShared && !mayBeDeaf && afterMs > HEED_MS;
}

/** Each payment is made once, and its payer told that one; what was said to have failed for good has. */
export function checkPayments({ chain }: Site, payers: Payer[], broken: string[]): void {
  const successes = chain.accounts.applied.filter(({ isSuccess }) => isSuccess);
  const paid = Map.groupBy(successes, ({ amount }) => amount);
  for (const { amount, told, isAsleep, awakeMs, saidFailed } of payers.flatMap(({ intents }) => intents)) {
    const applied = (paid.get(amount) ?? []).map(({ hash }) => hash);
    if (applied.length > 1) broken.push(`payment ${amount} was made ${applied.length} times`);
    if (told !== undefined && !applied.includes(told)) broken.push(`payment ${amount} was told ${told}, which is none`);
    const isDue = !isAsleep && chain.closedAtMs - awakeMs > PAID_MS;
    if (told === undefined && isDue) broken.push(`payment ${amount} does not come to an end`);
    const lied = applied.find((hash) => saidFailed.has(hash));
    if (lied !== undefined) broken.push(`payment ${amount} was told that ${lied} had failed, which was applied`);
  }
}
