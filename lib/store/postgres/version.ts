import type { VersionName } from "../sql/database.ts";

/**
 * Raises a version if the table `rows` has any. By a random step: a standby that was promoted without the last commits
 * must not hand out a version that a gateway has seen before.
 */
export function raiseVersion(prefix: string, rows?: string, name: VersionName = "subscriptions"): string {
  const where = rows === undefined ? "" : ` AND EXISTS (SELECT 1 FROM ${rows})`;
  return `UPDATE ${prefix}version SET version = version + 1 + floor(random() * 1000000)::bigint WHERE name = '${name}'${where}`;
}

/**
 * Deletes subscriptions with their progress and replay, lists them in `deleted_subscription`, and raises the version.
 * Progress goes before the replay, because a settlement locks the progress first. So neither waits for the other in a circle.
 */
export function deleteSubscriptions(prefix: string, where: string): string {
  return `WITH gone AS (DELETE FROM ${prefix}subscription WHERE ${where} RETURNING number),
      without_progress AS (
        DELETE FROM ${prefix}progress WHERE subscription = ANY (ARRAY(SELECT number FROM gone)) RETURNING subscription
      ),
      without_replay AS (
        DELETE FROM ${prefix}replay WHERE subscription = ANY (ARRAY(SELECT subscription FROM without_progress))
      ),
      noted AS (INSERT INTO ${prefix}deleted_subscription (number) SELECT number FROM gone)
    ${raiseVersion(prefix, "gone")}`;
}
