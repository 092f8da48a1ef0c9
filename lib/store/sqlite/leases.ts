import { checkBatch, checkLimit, checkSettlements } from "../bounds.ts";
import type { SqliteContext } from "./store.ts";
import type { NoteAttempt } from "./attempts.ts";
import { eventColumns, toEvent } from "./history.ts";
import type { SqliteOutbox } from "./outbox.ts";
import type { Settlement, SubscriptionLease, WebhookStore } from "../webhook_store.ts";

type LeaseMethods = Pick<
  WebhookStore,
  "leaseSubscriptions" | "renewLeases" | "releaseLease" | "nextDueAtMs" | "dueDeliveries" | "settle"
>;

/** What couriers do. Every write under a lease names its token. `freeAll` ends every lease there is. */
export function sqliteLeases(
  { database, run }: SqliteContext,
  outbox: SqliteOutbox,
  noteAttempt: NoteAttempt,
): { methods: LeaseMethods; freeAll(): Promise<void> } {
  const leasable = database.prepare(`
    SELECT outbox.subscription, subscription.id FROM outbox JOIN subscription ON number = outbox.subscription
    WHERE leasable_at_ms <= ? ORDER BY leasable_at_ms LIMIT ?`);
  const take = database.prepare("UPDATE outbox SET lease_token = ?, held_until_ms = ? WHERE subscription = ?");
  const own = `lease_token = ? AND subscription = (SELECT number FROM subscription WHERE id = ?)`;
  const renew = database.prepare(`UPDATE outbox SET held_until_ms = ? WHERE ${own}`);
  const release = database.prepare(`UPDATE outbox SET lease_token = NULL, held_until_ms = ? WHERE ${own}`);
  const free = database.prepare(
    "UPDATE outbox SET lease_token = NULL, held_until_ms = 0 WHERE lease_token IS NOT NULL",
  );
  const leased = database.prepare(`SELECT subscription FROM outbox WHERE ${own}`);
  const nextDue = database.prepare("SELECT min(leasable_at_ms) AS at_ms FROM outbox WHERE leasable_at_ms IS NOT NULL");
  const selectDue = (condition = "") =>
    database.prepare(`
      SELECT delivery.id AS delivery_id, attempts, due_at_ms, created_at_ms, ${eventColumns("event")}
      FROM delivery JOIN event ON event.position = delivery.position
      WHERE subscription = (SELECT number FROM subscription WHERE id = ?) AND due_at_ms <= ? ${condition}
      ORDER BY due_at_ms, delivery.position LIMIT ?`);
  const due = selectDue();
  const dueExcept = selectDue("AND delivery.id NOT IN (SELECT value FROM json_each(?))");
  const remove = database.prepare(
    "DELETE FROM delivery WHERE subscription = ? AND id = ? AND due_at_ms IS NOT NULL",
  );
  const postpone = database.prepare(`
    UPDATE delivery SET attempts = ?, due_at_ms = ? WHERE subscription = ? AND id = ? AND due_at_ms IS NOT NULL`);

  /** Writes the settlements of one lease that is still one's own. */
  function settleOwn(subscription: number, settlements: Settlement[]): void {
    const change = { pending: 0, dead: 0 };
    for (const { deliveryId, attempt } of settlements) {
      const { outcome, number, nextAttemptAtMs } = attempt;
      const isGone = outcome === "delivered" || outcome === "ended";
      const { changes } = isGone
        ? remove.run(subscription, deliveryId)
        : postpone.run(number, outcome === "dead" ? null : nextAttemptAtMs, subscription, deliveryId);
      if (changes === 0) continue;
      if (outcome !== "retry") change.pending -= 1;
      if (outcome === "dead") change.dead += 1;
      noteAttempt(subscription, attempt);
    }
    outbox.tally(subscription, change);
  }

  const methods: LeaseMethods = {
    leaseSubscriptions: ({ nowMs, leaseMs, limit }) =>
      run(() => {
        checkLimit(limit, 100);
        return database.transaction(() =>
          leasable.all(nowMs, limit).map((row): SubscriptionLease => {
            const lease = { subscriptionId: row.id as string, token: crypto.randomUUID(), untilMs: nowMs + leaseMs };
            take.run(lease.token, lease.untilMs, row.subscription as number);
            return lease;
          })
        );
      }),
    renewLeases: (leases, untilMs) =>
      run(() => {
        checkBatch(leases, 100);
        return database.transaction(() =>
          leases.filter(({ token, subscriptionId }) => renew.run(untilMs, token, subscriptionId).changes > 0)
            .map((lease) => ({ ...lease, untilMs }))
        );
      }),
    releaseLease: ({ token, subscriptionId }, { notBeforeMs = 0 } = {}) =>
      run(() => void release.run(notBeforeMs, token, subscriptionId)),
    nextDueAtMs: () => run(() => nextDue.get()!.at_ms as number | null ?? undefined),
    dueDeliveries: ({ subscriptionId, nowMs, limit, except = new Set() }) =>
      run(() => {
        checkLimit(limit, 200);
        const rows = except.size === 0
          ? due.all(subscriptionId, nowMs, limit)
          : dueExcept.all(subscriptionId, nowMs, JSON.stringify([...except]), limit);
        return rows.map((row) => ({
          delivery: {
            id: row.delivery_id as string,
            subscriptionId,
            position: row.position as string,
            attempts: row.attempts as number,
            dueAtMs: row.due_at_ms as number,
            createdAtMs: row.created_at_ms as number,
          },
          event: toEvent(row),
        }));
      }),
    settle: (settlements) =>
      run(() => {
        checkSettlements(settlements);
        database.transaction(() => {
          for (const ofLease of Map.groupBy(settlements, ({ lease }) => lease.token).values()) {
            const { token, subscriptionId } = ofLease[0]!.lease;
            const subscription = leased.get(token, subscriptionId)?.subscription as number | undefined;
            if (subscription !== undefined) settleOwn(subscription, ofLease);
          }
        });
      }),
  };
  return { methods, freeAll: () => run(() => void free.run()) };
}
