/**
 * The right to do one thing that only one process may do at a time. Every new lease raises its *term*. A write under a lease
 * names the term, and rejects with `fenced` once another holder has acquired the lease.
 */
export interface Lease {
  name: string;
  term: number;
}

/** The lease of the gateway that watches the network: the leader. */
export const WATCHER_LEASE = "watcher";

/** A lease that ends later than its duration and this was made before the clock was set back. */
export const LEASE_SLACK_MS = 600_000;

export interface LeaseStore {
  /**
   * Acquires a lease that has no holder, has expired, or belongs to this holder (with a new term). Undefined when another
   * holder has it. A handle that holds the store for serving always acquires. A lease that ends later than `durationMs` and
   * `LEASE_SLACK_MS` from now counts as expired, and the new lease fences its holder.
   * @param request `holder` is unique to a process. `durationMs` counts by the store's clock
   */
  acquire(request: { name: string; holder: string; durationMs: number }): Promise<Lease | undefined>;
  /** Prolongs leases (at most 10), and returns those that no other holder has acquired. */
  renew(leases: Lease[], durationMs: number): Promise<Lease[]>;
  /** Releases leases (at most 10). Passes over a lost one. */
  release(leases: Lease[]): Promise<void>;
}
