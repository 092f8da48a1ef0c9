import { OK_ANSWER, startReceiver } from "../webhooks/receiver.ts";
import type { SeededRandom } from "./seeded_random.ts";

/** How an endpoint treats a request: its answer, or how it fails to answer. */
export type Mood = "ok" | "error" | "tooMany" | "close" | "hang";

/** How likely an endpoint is to be in each mood. */
export type Moods = Partial<Record<Mood, number>>;

/** A delivery as it arrived. */
export interface Receipt {
  /** Name of the subscription: the path without its slash. */
  listener: string;
  /** `webhook-id`. */
  eventId: string;
  event: { id: string; type: string; txHash: string };
  mood: Mood;
}

export interface MoodyReceiver {
  url: string;
  receipts: Receipt[];
  /** Resolves when the next request arrives. */
  next(): Promise<void>;
  /** From now on every request is answered with 200. */
  calmDown(): void;
  close(): Promise<void>;
}

const RETRY_AFTER = ["1", "7", "3600", "1000000000", "Wed, 21 Oct 2015 07:28:00 GMT", "soon", "-1"] as const;

/** The back ends of all subscriptions on one port. Each request gets a random mood. */
export async function startMoodyReceiver(
  moodsOf: (listener: string) => Moods,
  random: SeededRandom,
): Promise<MoodyReceiver> {
  const receipts: Receipt[] = [];
  let isCalm = false;
  let arrival = Promise.withResolvers<void>();

  function moodOf(listener: string): Mood {
    let left = random.next();
    for (const [mood, share] of Object.entries(moodsOf(listener)) as [Mood, number][]) {
      if ((left -= share) < 0) return mood;
    }
    return "ok";
  }

  const receiver = await startReceiver(({ head, body }, socket) => {
    const listener = /^POST \/(\S+) /.exec(head)![1]!;
    const mood = isCalm ? "ok" : moodOf(listener);
    receipts.push({ listener, eventId: /^webhook-id: (\S+)$/im.exec(head)![1]!, event: JSON.parse(body).event, mood });
    arrival.resolve();
    arrival = Promise.withResolvers();
    switch (mood) {
      case "ok":
        return OK_ANSWER;
      case "error":
        return "HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops";
      case "tooMany":
        return `HTTP/1.1 429 Slow Down\r\nRetry-After: ${random.pick(RETRY_AFTER)}\r\nContent-Length: 0\r\n\r\n`;
      case "close":
        return void socket.destroy();
      case "hang":
        return;
    }
  });
  return {
    url: `http://127.0.0.1:${receiver.port}`,
    receipts,
    next: () => arrival.promise,
    calmDown() {
      isCalm = true;
    },
    close: receiver.close,
  };
}
