import type { Authorisation, Claim, MerchantHistory } from "../../../lib/escrow/payments/payment_states.ts";

/** A number from 0 up to this one, exclusive. */
export type Draw = (below: number) => number;

/** The chances of a world, in percent. */
export interface WorldKind {
  withoutMeta: number;
  late: number;
  extended: number;
  read: number;
  gaps: number;
}

/** The end of a payment in the contract. `takenBy`: the claim. `endedAt`: the first ledger without its entry. */
export interface Truth {
  takenBy?: string;
  endedAt?: number;
}

/** A merchant's events as the log has them, and what the contract did. */
export interface World {
  history: MerchantHistory;
  truth: Map<string, Truth>;
  /** All events of the contract, in ledger order. */
  all: MerchantHistory["events"];
  /** Events that the log lacks, because they are late or in a gap. */
  missing: number;
  /** The end of the payment's entry as of the close of a ledger; undefined without an entry. */
  entryAt(id: string, ledger: number): number | undefined;
}

interface Entry {
  id: string;
  slot: number;
  amount: bigint;
  writtenAt: number;
  endLedger: number;
}

const LIFE = 12;
const RESCAN = 8;

/** The payments of one merchant, lived through in the contract: slots, lives and claims. */
export function liveWorld(draw: Draw, kind: WorldKind): World {
  const chance = (percent: number) => draw(100) < percent;
  const ledgers = 20 + draw(60);
  const claims = 2 + draw(30);
  const settledLedger = ledgers - draw(RESCAN);
  const gaps = Array.from({ length: chance(kind.gaps) ? 1 + draw(2) : 0 }, () => {
    const fromLedger = draw(ledgers);
    return { fromLedger, toLedger: fromLedger + draw(12) };
  });
  const slots = new Map<number, Entry>();
  let lastSlot = 0;
  const truth = new Map<string, Truth>();
  const readings = new Map<string, Pick<Authorisation, "aliveAt" | "absentAt"> & { endLedger?: number }>();
  const events: (Authorisation | Claim)[] = [];
  const lived = new Map<string, number>();
  const lives = (entry: Entry, ledger: number) => entry.endLedger >= ledger;

  function transaction(ledger: number, txHash: string): (Authorisation | Claim)[] {
    const before = new Map([...slots].filter(([, entry]) => lives(entry, ledger)));
    const made: (Authorisation | Claim)[] = [];
    for (let action = 0, actions = chance(80) ? 1 : 2 + draw(3); action < actions; action++) {
      const id = `${txHash}.${action}`;
      const living = [...slots.values()].filter((entry) => lives(entry, ledger));
      if (!chance(claims) || living.length === 0) {
        const entry = {
          id,
          slot: ++lastSlot,
          amount: BigInt(1 + draw(4)),
          writtenAt: ledger,
          endLedger: ledger + LIFE - 1,
        };
        slots.set(entry.slot, entry);
        truth.set(id, {});
        const { amount, endLedger } = entry;
        made.push({ kind: "authorised", id, ledger, at: ledger, txHash, amount, endLedger });
      } else {
        for (const entry of slots.values()) {
          if (lives(entry, ledger)) truth.get(entry.id)!.takenBy = id;
          else truth.get(entry.id)!.endedAt ??= ledger;
        }
        const amount = living.reduce((sum, entry) => sum + entry.amount, 0n);
        made.push({ kind: "claimed", id, ledger, txHash, amount });
        slots.clear();
        lastSlot = 0;
      }
    }
    if (chance(kind.withoutMeta)) return made;
    const taken = [...before.values()].filter((entry) => slots.get(entry.slot) !== entry)
      .map(({ slot, writtenAt }) => ({ slot, at: writtenAt }));
    return made.map((event) => {
      if (event.kind === "claimed") return { ...event, taken };
      const entry = [...slots.values()].find(({ id }) => id === event.id);
      return entry === undefined ? event : { ...event, slot: entry.slot };
    });
  }

  for (let ledger = 1; ledger <= ledgers; ledger++) {
    for (let n = 0, last = draw(2); n < last; n++) events.push(...transaction(ledger, `tx ${ledger} ${n}`));
    for (const entry of slots.values()) {
      if (lives(entry, ledger) && chance(kind.extended)) entry.endLedger = Math.max(entry.endLedger, ledger + draw(30));
      if (!lives(entry, ledger)) truth.get(entry.id)!.endedAt ??= ledger;
    }
    for (const entry of slots.values()) {
      if (lives(entry, ledger)) lived.set(`${entry.id} ${ledger}`, entry.endLedger);
    }
    for (const [id, { takenBy, endedAt }] of truth) {
      if (!chance(kind.read)) continue;
      const before = readings.get(id) ?? {};
      const entry = [...slots.values()].find((one) => one.id === id);
      const isAlive = takenBy === undefined && endedAt === undefined;
      const read = isAlive
        ? { ...before, aliveAt: ledger, endLedger: entry!.endLedger }
        : { ...before, absentAt: before.absentAt ?? ledger };
      readings.set(id, read);
    }
  }
  const isMissing = ({ ledger }: { ledger: number }) =>
    gaps.some((gap) => ledger >= gap.fromLedger && ledger <= gap.toLedger) ||
    (ledger > settledLedger && chance(kind.late));
  const known = events.filter((event) => !isMissing(event));
  return {
    history: {
      events: known.map((event) => event.kind === "authorised" ? { ...event, ...readings.get(event.id) } : event),
      gaps,
      settledLedger,
      isFormer: false,
    },
    truth,
    all: events,
    missing: events.length - known.length,
    // After the last ledger nobody claims and nobody extends.
    entryAt(id, ledger) {
      const end = lived.get(`${id} ${Math.min(ledger, ledgers)}`);
      return end !== undefined && end >= ledger ? end : undefined;
    },
  };
}
