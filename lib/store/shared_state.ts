/** The result of a change. */
export interface SharedStateChange<T, A> {
  /** The next value, JSON of at most 32 KiB. Absent: the value stays, and nothing is written. */
  value?: T;
  /** How long the store keeps the next value, by its clock. After that the value counts as absent. */
  keepMs: number;
  /** The call resolves with this. */
  answer: A;
}

export interface StoredValue {
  name: string;
  value: unknown;
  /** When its time is over, by the store's clock. */
  untilMs: number;
}

/**
 * Small values with names. Gateways read and change them in turn instead of keeping them in the memory of one gateway. A change
 * is a pure function of the caller, so every driver makes the same one.
 */
export interface SharedStateStore {
  /** The value under this name (1 to 200 characters), undefined when there is none or its time is over. */
  read<T>(name: string): Promise<T | undefined>;
  /**
   * Changes a value atomically. Simultaneous changes of one name run in turn. Each gets the value of the one before, as `read`
   * returns it, and the store's time, Unix ms. The store may call `change` several times, and only the last call counts. So
   * `change` must do nothing else, and must not modify its argument. An error that it throws reaches the caller, and nothing
   * is written.
   */
  change<T, A>(name: string, change: (value: T | undefined, nowMs: number) => SharedStateChange<T, A>): Promise<A>;
  /** Every value, expired or not: at most `limit` (≤ 500) after the name `after`, ascending by name. */
  list(page: { after?: string; limit: number }): Promise<StoredValue[]>;
  /**
   * Deletes at most 500 values whose time is over, by the store's clock, and was over before this time (Unix ms). Returns
   * their number.
   */
  prune(overBeforeMs: number): Promise<number>;
}
