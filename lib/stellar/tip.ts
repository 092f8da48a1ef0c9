/**
 * The newest ledger this gateway has seen from any answer of any node. A node that shows an older one lags and is not
 * believed; one whose sequence is lower but whose close time is newer is a reset network, and a new epoch begins.
 */
export interface LedgerTip {
  /** The highest sequence seen in this epoch; 0 before the first answer. */
  readonly sequence: number;
  /** Close time of that ledger, Unix seconds; 0 while unknown. */
  readonly closeTime: number;
  /** Counts network resets; restored from the store at start. */
  readonly epoch: number;
  /**
   * Takes in what an answer said.
   * - `current`: the same ledger or a newer one (which raises the tip);
   * - `lagging`: an older one, not to be believed;
   * - `reset`: older, but closed later: the tip now follows the new network, `epoch` is raised.
   * Without a close time an older sequence is `lagging`.
   */
  observe(sequence: number, closeTime?: number): "current" | "lagging" | "reset";
  /** Called with the new sequence whenever it changes; answers how to stop. */
  onChange(listener: (sequence: number) => void): () => void;
}

/** A tip that starts at the given point (0, 0, epoch 0 by default). */
export function createLedgerTip(start: { sequence?: number; closeTime?: number; epoch?: number } = {}): LedgerTip {
  let sequence = start.sequence ?? 0;
  let closeTime = start.closeTime ?? 0;
  let epoch = start.epoch ?? 0;
  const listeners = new Set<(sequence: number) => void>();

  function moveTo(newSequence: number, newCloseTime: number): void {
    sequence = newSequence;
    closeTime = newCloseTime;
    for (const listener of listeners) listener(sequence);
  }

  return {
    get sequence() {
      return sequence;
    },
    get closeTime() {
      return closeTime;
    },
    get epoch() {
      return epoch;
    },
    observe(seenSequence, seenCloseTime) {
      if (seenSequence > sequence) {
        moveTo(seenSequence, seenCloseTime ?? closeTime);
        return "current";
      }
      if (seenSequence === sequence) {
        if (seenCloseTime !== undefined && seenCloseTime > closeTime) closeTime = seenCloseTime;
        return "current";
      }
      if (seenCloseTime === undefined || closeTime === 0 || seenCloseTime <= closeTime) return "lagging";
      epoch += 1;
      moveTo(seenSequence, seenCloseTime);
      return "reset";
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
