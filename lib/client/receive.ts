import type { GatewayEvent } from "./events.ts";
import { verifyWebhook, type VerifyWebhookOptions, type WebhookVerification } from "./verify_webhook.ts";

/** A webhook that the gateway has sent, or what is wrong with the request. */
export type Received =
  | {
    ok: true;
    /** The webhook's id, `wh_…`. */
    subscription: string;
    /** Deduplicate on its `id`: a delivery comes at least once. */
    event: GatewayEvent;
    /** When it was signed, Unix seconds. */
    timestamp: number;
  }
  | Extract<WebhookVerification, { ok: false }>
  | { ok: false; reason: "not_a_webhook"; message: string };

/** A delivery is far smaller. */
const MAX_BODY_BYTES = 65_536;

/**
 * Reads a webhook's body, at most 64 KiB of it, checks that the gateway signed it with this secret just now, and answers the
 * event. Needs Web APIs and nothing else.
 *
 * @example
 * ```ts
 * const received = await receive(request, secret);
 * if (!received.ok) return new Response(received.message, { status: 400 });
 * if (received.event.type === "payment.authorized") await ship(received.event);
 * return new Response(null, { status: 204 });
 * ```
 *
 * @throws {TypeError} when a secret is none: that is a mistake on this side, not the sender's
 */
export async function receive(
  request: Request,
  secret: string | readonly string[],
  options: Pick<VerifyWebhookOptions, "toleranceSeconds" | "nowMs"> = {},
): Promise<Received> {
  const body = await bodyOf(request);
  if (body === undefined) return { ok: false, reason: "not_a_webhook", message: "the body is larger than 64 KiB" };
  const verified = await verifyWebhook({ ...options, body, headers: request.headers, secret });
  if (!verified.ok) return verified;
  try {
    const { subscription, event } = JSON.parse(new TextDecoder().decode(body));
    if (typeof subscription === "string" && typeof event?.id === "string" && typeof event.type === "string") {
      return { ok: true, subscription, event, timestamp: verified.timestamp };
    }
  } catch {
    // Signed, and no JSON all the same: told below.
  }
  return { ok: false, reason: "not_a_webhook", message: "the body is signed, and no event" };
}

async function bodyOf({ body }: Request): Promise<Uint8Array | undefined> {
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = body?.getReader();
  for (let read = await reader?.read(); read !== undefined && !read.done; read = await reader!.read()) {
    length += read.value.length;
    if (length > MAX_BODY_BYTES) {
      await reader!.cancel().catch(() => {});
      return undefined;
    }
    parts.push(read.value);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
