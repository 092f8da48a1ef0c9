/**
 * The newest ledger this gateway has seen from any answer of any node. A node that shows an older one lags and is not
 * believed; one whose sequence is lower but whose close time is newer is a reset network, and a new epoch begins.
 */
export interface LedgerTip {
  /** The highest sequence seen in this epoch; 0 before the first answer. */
  readonly sequence: number;
  /** Close time of that ledger (or, while `closeTimeIsExact` is false, of an older one), Unix seconds; 0 while unknown. */
  readonly closeTime: number;
  /** Whether `closeTime` is that of `sequence`: entries and simulations raise the sequence without saying a time. */
  readonly closeTimeIsExact: boolean;
  /** Counts network resets; restored from the store at start. */
  readonly epoch: number;
  /**
   * Takes in what an answer said.
   * - `current`: the same ledger or a newer one (which raises the tip);
   * - `lagging`: an older one, not to be believed, or one that is numbered higher but closed earlier: of the network
   *   before a reset;
   * - `reset`: older, but closed later: the tip now follows the new network, `epoch` is raised.
   * Sequence and close time are compared with the newest ledger both are known of: some answers carry no close time.
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
  /** The ledger `closeTime` belongs to: `sequence`, or an older one when the newest came without its close time. */
  let timedSequence = closeTime === 0 ? 0 : sequence;
  const listeners = new Set<(sequence: number) => void>();

  function moveTo(newSequence: number): void {
    sequence = newSequence;
    for (const listener of listeners) listener(sequence);
  }

  function judge(seenSequence: number, seenCloseTime?: number): "current" | "lagging" | "reset" {
    if (seenCloseTime !== undefined && closeTime > 0) {
      if (seenSequence > timedSequence && seenCloseTime < closeTime) return "lagging";
      if (seenSequence < timedSequence && seenCloseTime > closeTime) return "reset";
    }
    return seenSequence < sequence ? "lagging" : "current";
  }

  return {
    get sequence() {
      return sequence;
    },
    get closeTime() {
      return closeTime;
    },
    get closeTimeIsExact() {
      return closeTime > 0 && timedSequence === sequence;
    },
    get epoch() {
      return epoch;
    },
    observe(seenSequence, seenCloseTime) {
      const verdict = judge(seenSequence, seenCloseTime);
      if (verdict === "lagging") return verdict;
      if (verdict === "reset") epoch += 1;
      if (seenCloseTime !== undefined) {
        timedSequence = seenSequence;
        closeTime = seenSequence === sequence ? Math.max(closeTime, seenCloseTime) : seenCloseTime;
      }
      if (seenSequence !== sequence) moveTo(seenSequence);
      return verdict;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
