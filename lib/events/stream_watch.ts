/*
 * Ends live streams whose keys are no longer valid, and those that no client reads. `streams.ts` calls it in its loop.
 */

import type { Clock } from "../clock.ts";
import type { FedStream } from "./stream.ts";

/** The state of a stream's key and client. */
export interface WatchedStream {
  keyId: string;
  /** Why its key is no longer valid; undefined while it is. */
  refusal(): string | undefined | Promise<string | undefined>;
  /** The check of its key, under way. */
  asking: Promise<void> | undefined;
  /** When its key was checked last (monotonic ms). */
  askedAtMs: number;
  /** How many pages its client had taken at the last look, and since when it has taken none (monotonic ms). */
  taken: number;
  takenAtMs: number;
}

/** Ends streams whose keys are no longer valid, and unread ones. */
export interface StreamWatch {
  /** Checks all keys after a suspension of this process: a key may have been disabled, so nothing is sent before. */
  afterStandstill(): Promise<void>;
  /** Checks the key of a stream that reads the log itself, possibly between two looks. */
  beforeReading(stream: FedStream): Promise<void>;
  /** Checks all streams, and sends each the latest ledger every five seconds. */
  look(): void;
}

/** After this long without a look this process was suspended. */
const STANDSTILL_MS = 1_000;
const LEDGER_MS = 5_000;
/** A client that takes nothing for this long is cut off. It reconnects with `Last-Event-ID`. */
const UNREAD_MS = 30_000;

export function createStreamWatch({ streams, latestLedger, clock: { monotonicMs } }: {
  streams: ReadonlyMap<FedStream, WatchedStream>;
  latestLedger(): number;
  clock: Pick<Clock, "monotonicMs">;
}): StreamWatch {
  let toldLedgerAtMs = -Infinity;
  let lookedAtMs = -Infinity;

  /**
   * Ends a stream whose key is no longer valid. While that is unknown, as when the store fails, the stream goes on.
   * Repeats a check that takes too long, because its answer may be old.
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
