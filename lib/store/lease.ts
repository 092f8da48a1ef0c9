/**
 * The right to do one thing that only one process may do at a time. Its *term* rises with every change of hands; every
 * write under the lease names it, and rejects with `fenced` once another has acquired it.
 */
export interface Lease {
  name: string;
  term: number;
}

/** The lease of the one that watches the network. */
export const WATCHER_LEASE = "watcher";

/** No lease ends so much later than it is acquired for: one that does is of a clock that was set back since. */
export const LEASE_SLACK_MS = 600_000;

export interface LeaseStore {
  /**
   * Acquires a lease that nobody holds, whose time is over, or that is this holder's own (a new term all the same);
   * undefined when another holds it. On a store held for serving its holder always acquires. The time of one that ends
   * later than `durationMs` and `LEASE_SLACK_MS` from now counts as over, too: whoever holds it is fenced by the next one.
   * @param request `holder`: unique to a process; `durationMs`: counted by the store's clock from when it is acquired
   */
  acquire(request: { name: string; holder: string; durationMs: number }): Promise<Lease | undefined>;
  /** Prolongs leases (at most 10) that are still one's own; answers those. A lease is one's own until another has acquired it. */
  renew(leases: Lease[], durationMs: number): Promise<Lease[]>;
  /** Gives leases (at most 10) back; one that is lost is passed over. */
  release(leases: Lease[]): Promise<void>;
}
