import type { FormerSecret, Secrets, Subscription } from "../webhook.ts";

interface SecretsRow {
  secret: string;
  previous_secret: string | null;
  previous_secret_until_ms: number | null;
  older_secret: string | null;
  older_secret_until_ms: number | null;
}

export interface SubscriptionRow extends SecretsRow {
  id: string;
  key_id: string;
  url: string;
  /** Comma-separated; null: all. */
  types: string | null;
  device_hash: string | null;
  merchant: string | null;
  /** SQLite has 0 and 1. */
  ordered: boolean | 0 | 1;
  created_at: string;
  start_height: number;
}

const SECRETS_COLUMNS = "secret, previous_secret, previous_secret_until_ms, older_secret, older_secret_until_ms";
export const SUBSCRIPTION_COLUMNS =
  `id, key_id, url, types, device_hash, merchant, ordered, ${SECRETS_COLUMNS}, created_at, start_height`;

export function secretsRow({ secret, previousSecret, olderSecret }: Secrets): SecretsRow {
  return {
    secret,
    previous_secret: previousSecret?.secret ?? null,
    previous_secret_until_ms: previousSecret?.untilMs ?? null,
    older_secret: olderSecret?.secret ?? null,
    older_secret_until_ms: olderSecret?.untilMs ?? null,
  };
}

export function subscriptionRow(subscription: Subscription): SubscriptionRow {
  return {
    id: subscription.id,
    key_id: subscription.keyId,
    url: subscription.url,
    types: subscription.types?.join(",") ?? null,
    device_hash: subscription.deviceHash,
    merchant: subscription.merchant,
    ordered: subscription.ordered,
    ...secretsRow(subscription),
    created_at: subscription.createdAt,
    start_height: subscription.startHeight,
  };
}

function formerSecret(secret: string | null, untilMs: number | null): FormerSecret | null {
  return secret === null ? null : { secret, untilMs: untilMs! };
}

export function toSubscription(row: SubscriptionRow): Subscription {
  const olderSecret = formerSecret(row.older_secret, row.older_secret_until_ms);
  return {
    id: row.id,
    keyId: row.key_id,
    url: row.url,
    types: row.types === "" ? [] : row.types?.split(",") ?? null,
    deviceHash: row.device_hash,
    merchant: row.merchant,
    ordered: Boolean(row.ordered),
    secret: row.secret,
    previousSecret: formerSecret(row.previous_secret, row.previous_secret_until_ms),
    ...(olderSecret === null ? {} : { olderSecret }),
    createdAt: row.created_at,
    startHeight: row.start_height,
  };
}
