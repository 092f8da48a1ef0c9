import type { Clock } from "../../clock.ts";
import type { Subscription } from "../../store/webhook.ts";
import type { Recipient } from "./attempt.ts";
import { type Consumer, type Eligible, isClosed, putOff } from "./consumer.ts";
import { unasked } from "./endpoint.ts";

export interface EligibilityParts {
  /**
   * Whether the key exists, is enabled, has not expired and has the scope `webhooks`. Else its deliveries are held
   * back.
   */
  isKeyEnabled(keyId: string): Promise<boolean>;
  /** Loads changes of subscriptions, unless that was done a moment ago. */
  refresh(): Promise<void>;
  /** The subscription with its secrets opened. */
  recipient(subscription: Subscription): Recipient;
  /** With a shared store it is the store's clock (`openStoreClock`), because gateways' clocks may differ. */
  clock: Clock;
  /** Reports a problem on our side; holds no secret and no URL. */
  onProblem(message: string, cause?: unknown): void;
}

/** How long a check is valid. A disabled key takes effect within this time. */
const CHECK_MS = 1_000;
/** A check uses subscriptions loaded no longer ago than this. A load is made once a second unless something is slow. */
export const REFRESH_MS = 2_000;
/** A post uses a subscription and its secrets no older than this. */
export const HEEDED_MS: number = REFRESH_MS + CHECK_MS;
/** How long the deliveries of a disabled key are held back at a time. */
const HOLD_BACK_MS = 2_000;
/** The same for a secret that cannot be opened. */
const SEALED_MS = 5_000;

/** Whether a consumer has passed a check a moment ago. */
export function isEligible({ eligible }: Consumer, nowAt: number): boolean {
  return eligible !== undefined && nowAt - eligible.checkedAt < CHECK_MS;
}

/** Checks whether a subscription may receive posts, and with which secrets. Else holds it back. */
export async function checkEligible(parts: EligibilityParts, consumer: Consumer): Promise<void> {
  const checkedAt = parts.clock.monotonicMs();
  await parts.refresh();
  const { subscription } = consumer;
  const isEnabled = await parts.isKeyEnabled(subscription.keyId);
  // A change of the subscription ends the check.
  if (isClosed(consumer) || consumer.subscription !== subscription) return;
  const opened = isEnabled ? open(parts, consumer) : undefined;
  consumer.eligible = opened && { ...opened, checkedAt };
  if (opened === undefined) putOff(consumer, checkedAt + (isEnabled ? SEALED_MS : HOLD_BACK_MS), true);
  // Once the key is enabled again, the endpoint may be well: old deliveries are tried before they are given up.
  if (!isEnabled) consumer.endpoint = unasked(consumer.endpoint);
}

/** Opens the secrets, again when one has expired; undefined when that fails. */
function open(
  { clock, recipient, onProblem }: EligibilityParts,
  { subscription, eligible }: Consumer,
): Omit<Eligible, "checkedAt"> | undefined {
  if (eligible !== undefined && clock.now() < eligible.untilMs) return eligible;
  try {
    const { previousSecret, olderSecret } = subscription;
    const ends = [previousSecret, olderSecret].flatMap((former) => former?.untilMs ?? []);
    const untilMs = Math.min(Infinity, ...ends.filter((endMs) => endMs > clock.now()));
    return { recipient: recipient(subscription), untilMs };
  } catch (cause) {
    onProblem(`the secret of ${subscription.id} cannot be opened: its deliveries are held back`, cause);
    return undefined;
  }
}
