import { setTimeout as passed } from "node:timers/promises";

/** A request that was let through, in monotonic milliseconds: it was admitted between the two. */
export interface Admission {
  sentAt: number;
  answeredAt: number;
}

export interface Overload {
  admissions: Admission[];
  refused: number;
  startedAt: number;
  endedAt: number;
}

const CLIENTS_EACH = 8;
/** A client that was refused asks again after so long. */
const REFUSED_MS = 5;

/** Has clients of one key ask at all gateways, far more often than it may. Void (throws) at any answer but 200 and 429. */
export async function overload(urls: string[], key: string, seconds: number): Promise<Overload> {
  const admissions: Admission[] = [];
  let refused = 0;
  const headers = { authorization: `Bearer ${key}` };
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1_000;

  async function client(url: string): Promise<void> {
    while (performance.now() < endsAt) {
      const sentAt = performance.now();
      const { status, body } = await fetch(`${url}/v1/network`, { headers });
      const answeredAt = performance.now();
      await body?.cancel();
      if (status === 200) admissions.push({ sentAt, answeredAt });
      else if (status !== 429) throw new Error(`void: ${url} answered ${status}`);
      else {
        refused++;
        await passed(REFUSED_MS);
      }
    }
  }

  await Promise.all(urls.flatMap((url) => Array.from({ length: CLIENTS_EACH }, () => client(url))));
  return { admissions, refused, startedAt, endedAt: performance.now() };
}

/**
 * How near the fullest window came to what a bucket lets through: what was surely admitted within it, over a full bucket
 * and what flows in meanwhile. Above 1: somebody was let through who should not have been.
 * @param rate tokens a minute, and what the bucket holds
 */
export function fullestWindow(admissions: Admission[], rate: number): number {
  let fullest = 0;
  /** When those were answered that were sent at or after the beginning of the window, ascending. */
  const answered: number[] = [];
  for (const { sentAt, answeredAt } of admissions.toSorted((a, b) => b.sentAt - a.sentAt)) {
    const place = answered.findIndex((at) => at > answeredAt);
    answered.splice(place === -1 ? answered.length : place, 0, answeredAt);
    // Each window ends with an answer. Its milliseconds are whole ones for the gateway.
    answered.forEach((endAt, n) => fullest = Math.max(fullest, (n + 1) / (rate * (1 + (endAt - sentAt + 1) / 60_000))));
  }
  return fullest;
}
