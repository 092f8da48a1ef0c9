import type { KvEntryMaybe } from "../../runtime/kv.ts";
import type { NounDriver } from "../checked_store.ts";
import { type Lease, LEASE_SLACK_MS, type LeaseStore } from "../lease.ts";
import { StoreError } from "../store_error.ts";
import { collect, commit, type DenoKvContext, getAll } from "./database.ts";
import { type LeaseEntry, leaseKey } from "./schema.ts";

type LeaseMethods = NounDriver<LeaseStore>;

/** Leases. `endAll` ends every one. */
export function denoKvLeases(
  { kv, now, isHeld, retry }: DenoKvContext,
): { methods: LeaseMethods; endAll(): Promise<void> } {
  /** Changes the leases that no other holder has acquired, in one commit. */
  const change = (leases: Lease[], changed: (entry: LeaseEntry) => LeaseEntry) =>
    retry(async () => {
      const entries = await getAll<LeaseEntry>(kv, leases.map(({ name }) => leaseKey(name)));
      const own = leases.filter((lease, index) => isOwn(lease, entries[index]!));
      if (own.length === 0) return { done: own };
      const atomic = kv.atomic();
      for (const entry of entries.filter((entry, index) => isOwn(leases[index]!, entry))) {
        atomic.check(entry).set(entry.key, changed(entry.value!));
      }
      return await commit(atomic) ? { done: own } : undefined;
    });

  const end = (entry: LeaseEntry): LeaseEntry => ({ ...entry, holder: null });

  const methods: LeaseMethods = {
    acquire: ({ name, holder, durationMs }) =>
      retry(async () => {
        const entry = await kv.get<LeaseEntry>(leaseKey(name));
        const held = entry.value;
        const isFree = held === null || held.holder === null || held.holder === holder ||
          isOver(held, now(), durationMs) || isHeld();
        if (!isFree) return { done: undefined };
        const lease = { name, term: (held?.term ?? 0) + 1 };
        const atomic = kv.atomic().check(entry)
          .set(entry.key, { holder, term: lease.term, untilMs: now() + durationMs });
        return await commit(atomic) ? { done: lease } : undefined;
      }),
    renew: (leases, durationMs) => change(leases, (entry) => ({ ...entry, untilMs: now() + durationMs })),
    release: async (leases) => void await change(leases, end),
  };

  return {
    methods,
    async endAll() {
      const held = await collect(kv.list<LeaseEntry>({ prefix: ["lease"] }));
      for (const { key, value: { term } } of held) await change([{ name: key[1] as string, term }], end);
    },
  };
}

/** Whether the lease was neither released nor acquired by another holder since. */
function isOwn({ term }: Lease, { value }: KvEntryMaybe<LeaseEntry>): boolean {
  return value !== null && value.term === term && value.holder !== null;
}

/** A lease that ends later than its duration allows was acquired before the clock was set back. */
function isOver({ untilMs }: LeaseEntry, nowMs: number, durationMs: number): boolean {
  return nowMs >= untilMs || untilMs - nowMs > durationMs + LEASE_SLACK_MS;
}

/**
 * Checks leases. A commit that also checks these entries fails once another holder has acquired one.
 * @throws StoreError `fenced` when one is lost already
 */
export function checkOwn(location: string, leases: Lease[], entries: KvEntryMaybe<LeaseEntry>[]): void {
  const lost = leases.find((lease, index) => !isOwn(lease, entries[index]!));
  if (lost === undefined) return;
  throw new StoreError("fenced", `${location}: the lease "${lost.name}" of term ${lost.term} is no longer one's own`);
}
