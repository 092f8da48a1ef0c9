import type { Clock } from "../clock.ts";
import type { FedStream } from "./stream.ts";

/** What is known of a stream beside itself. */
export interface WatchedStream {
  keyId: string;
  /** Why its key no longer stands; undefined: it does. */
  refusal(): string | undefined | Promise<string | undefined>;
  /** The question whether its key stands, under way. */
  asking: Promise<void> | undefined;
  /** When its key was asked for last, monotonic. */
  askedAtMs: number;
  /** How much its reader had taken when it was looked at last, and since when it has taken no more, monotonic. */
  taken: number;
  takenAtMs: number;
}

/** Ends streams whose keys no longer stand, and those that nobody reads. */
export interface StreamWatch {
  /**
   * While this gateway stood still any key may have been disabled: nothing is told of what happened since before that is
   * known.
   */
  afterStandstill(): Promise<void>;
  /** Who reads on by itself may do so before the others are looked at, or have been opened while the store was slow. */
  beforeReading(stream: FedStream): Promise<void>;
  /** Looks at all of them, and tells them every five seconds how far the network is. */
  look(): void;
}

/** Streams that were not looked at for so long stood still with this process. */
const STANDSTILL_MS = 1_000;
const LEDGER_MS = 5_000;
/** A reader that has not taken what it was sent for so long is ended; it comes back with `Last-Event-ID`. */
const UNREAD_MS = 30_000;

export function createStreamWatch({ streams, latestLedger, clock: { monotonicMs } }: {
  streams: ReadonlyMap<FedStream, WatchedStream>;
  latestLedger(): number;
  clock: Pick<Clock, "monotonicMs">;
}): StreamWatch {
  let toldLedgerAtMs = -Infinity;
  let lookedAtMs = -Infinity;

  /**
   * Ends a stream whose key no longer stands. While that cannot be told, as when the store fails, it goes on. What was asked
   * for long ago is asked for again: a late answer is an old one.
   */
  function check(stream: FedStream, entry: WatchedStream): void {
    const nowMs = monotonicMs();
    if (entry.asking !== undefined && nowMs - entry.askedAtMs < STANDSTILL_MS) return;
    entry.askedAtMs = nowMs;
    const judge = (refusal: string | undefined) => refusal !== undefined && stream.end({ revoked: refusal });
    const refusal = entry.refusal();
    if (!(refusal instanceof Promise)) return void judge(refusal);
    const asking: Promise<void> = refusal.then(judge, () => {}).then(() => {
      if (entry.asking === asking) entry.asking = undefined;
    });
    entry.asking = asking;
  }

  return {
    async afterStandstill() {
      const nowMs = monotonicMs();
      if (nowMs - lookedAtMs >= STANDSTILL_MS) {
        for (const [stream, entry] of streams) check(stream, entry);
        await Promise.all(Array.from(streams.values(), ({ asking }) => asking));
      }
      lookedAtMs = nowMs;
    },
    async beforeReading(stream) {
      const entry = streams.get(stream);
      if (entry === undefined) return;
      if (monotonicMs() - entry.askedAtMs >= STANDSTILL_MS) check(stream, entry);
      await entry.asking;
    },
    look() {
      const nowMs = monotonicMs();
      const isTime = nowMs - toldLedgerAtMs >= LEDGER_MS;
      if (isTime) toldLedgerAtMs = nowMs;
      for (const [stream, entry] of streams) {
        check(stream, entry);
        if (stream.isAsked || stream.taken !== entry.taken) entry.takenAtMs = nowMs;
        else if (nowMs - entry.takenAtMs >= UNREAD_MS) stream.end("cut");
        entry.taken = stream.taken;
        if (isTime) stream.tellLedger(latestLedger());
      }
    },
  };
}
