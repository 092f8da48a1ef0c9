/** What a change of a register leads to. */
export interface SharedStateChange<T, A> {
  /** The next value, JSON of at most 32 KiB. Absent: it stays as it was, and nothing is written. */
  value?: T;
  /** How long a next value is kept, by the store's clock: then it counts as absent. */
  keepMs: number;
  /** What the call resolves with. */
  answer: A;
}

export interface StoredValue {
  name: string;
  value: unknown;
  /** Until when it is kept, by the store's clock. */
  untilMs: number;
}

/**
 * Small values, each by its name, that several gateways read and change in turn: what must not rest on the memory of one
 * of them. What a change does is a pure function of whoever calls, so it is the same on every driver.
 */
export interface SharedStateStore {
  /** The value under this name (1 to 200 characters), undefined when there is none or its time is over. */
  read<T>(name: string): Promise<T | undefined>;
  /**
   * Changes a value atomically: of changes of one name at the same time, each is handed what the one before left. `change`
   * is handed that (undefined as with `read`) and the store's time, Unix ms. It may be called several times, of which only
   * the last counts, so it must do nothing else, and leave what it is handed as it is. What it throws is passed on, and
   * nothing is written.
   */
  change<T, A>(name: string, change: (value: T | undefined, nowMs: number) => SharedStateChange<T, A>): Promise<A>;
  /** Every value, over or not, ascending by name, at most `limit` (≤ 500) after the name `after`. */
  list(page: { after?: string; limit: number }): Promise<StoredValue[]>;
  /**
   * Forgets values whose time is over by the store's clock and was over before this time (Unix ms), at most 500 at a call;
   * answers how many went.
   */
  prune(overBeforeMs: number): Promise<number>;
}
