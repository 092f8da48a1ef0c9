import { createHash } from "node:crypto";
import type { Clock } from "../clock.ts";
import type { KeptVerdicts } from "../escrow/reads/source_choice.ts";
import { createLoop } from "../loop.ts";
import type { Head } from "../stellar/head.ts";
import type { Store, WatcherState } from "../store/store.ts";
import { VERSION } from "../version.ts";

/**
 * What one gateway finds out and the others on its store should know: the ledger in which it saw a transaction confirmed,
 * so that a read at another one shows what that did, and which way reads go with this code of the contracts.
 */
export interface SharedState {
  /** Tells the others of the newest ledger seen here. Never rejects. */
  tellLedger(): Promise<void>;
  /** Learns of what the others have seen. Never rejects. */
  look(): Promise<void>;
  verdicts: KeptVerdicts;
  /** Looks twice a second from now on. */
  start(): void;
  stop(): Promise<void>;
}

export interface SharedStateParts {
  store: Pick<Store, "sharedState" | "events">;
  head: Head;
  clock: Clock;
  /** Called at each look while a gateway has seen a ledger whose events are not in the log yet. */
  onUnread(): void;
  onProblem(message: string, cause: unknown): void;
}

/** A ledger that a gateway has seen. */
interface SeenLedger {
  epoch: number;
  sequence: number;
  /** Unix seconds; null where no answer has said one. */
  closeTime: number | null;
}

type NewestStored = Pick<WatcherState, "epoch" | "latestLedger" | "latestLedgerCloseTime">;

const NOTHING_STORED: NewestStored = { epoch: 0, latestLedger: 0, latestLedgerCloseTime: 0 };
const LEDGER = "ledger";
const LOOK_MS = 500;
/** By then the watcher's state says as much, and a gateway that starts goes by that. */
const LEDGER_KEPT_MS = 60_000;
const VERDICT_KEPT_MS = 30 * 86_400_000;

export function createSharedState(parts: SharedStateParts): SharedState {
  const { store: { sharedState, events }, head, clock, onUnread, onProblem } = parts;
  let heard: SeenLedger | undefined;
  /** Its events were not in the log yet at the last look. */
  let isUnread = false;
  let isTold = false;

  /** By its time: a gateway that stood still while the network was reset still has a head of before. */
  function newest({ epoch, latestLedger, latestLedgerCloseTime }: NewestStored): SeenLedger {
    const { sequence, closeTime, isTimed } = head;
    if (latestLedgerCloseTime > closeTime) return { epoch, sequence: latestLedger, closeTime: latestLedgerCloseTime };
    return { epoch, sequence, closeTime: isTimed ? closeTime : null };
  }

  function isHigher(one: SeenLedger, other: SeenLedger | undefined): boolean {
    if (other === undefined || one.epoch !== other.epoch) return one.epoch > (other?.epoch ?? -1);
    return one.sequence > other.sequence;
  }

  /** A store that fails is told of elsewhere, too: once is enough. */
  async function attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      isTold = false;
    } catch (cause) {
      if (!isTold) onProblem("gateways on this store cannot tell one another of new ledgers; trying on", cause);
      isTold = true;
    }
  }

  const look = () =>
    attempt(async () => {
      const seen = await sharedState.read<SeenLedger>(LEDGER);
      if (seen === undefined || !(isUnread || isHigher(seen, heard))) return;
      const { epoch, scannedLedger } = await events.watcherState() ?? { epoch: 0, scannedLedger: 0 };
      if (seen.epoch !== epoch) return;
      if (isHigher(seen, heard)) {
        head.observe({ sequence: seen.sequence, closeTime: seen.closeTime ?? undefined });
        head.confirm(seen.sequence);
      }
      heard = seen;
      isUnread = seen.sequence > scannedLedger;
      if (isUnread) onUnread();
    });

  const loop = createLoop({
    async step() {
      await look();
      return LOOK_MS;
    },
    wait: clock.wait,
    onProblem: () => {},
  });

  /** What is kept of one kind of read: of this program's ways to read, with this code. */
  const verdictName = (kind: string, codes: string) =>
    `reads/${VERSION}/${kind}/${createHash("sha256").update(codes).digest("hex")}`;

  return {
    tellLedger: () =>
      attempt(async () => {
        const seen = newest(await events.watcherState() ?? NOTHING_STORED);
        await sharedState.change(LEDGER, (before: SeenLedger | undefined) => {
          return { value: isHigher(seen, before) ? seen : undefined, keepMs: LEDGER_KEPT_MS, answer: undefined };
        });
      }),
    look,
    verdicts: {
      get: (kind, codes) => sharedState.read(verdictName(kind, codes)),
      put: (kind, codes, way) =>
        sharedState.change(verdictName(kind, codes), (before: typeof way | undefined) => {
          return { value: before === "calls" ? undefined : way, keepMs: VERDICT_KEPT_MS, answer: undefined };
        }),
    },
    start: loop.start,
    stop: loop.stop,
  };
}
