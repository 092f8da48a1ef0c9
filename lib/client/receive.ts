import type { GatewayEvent } from "./events.ts";
import { verifyWebhook, type VerifyWebhookOptions, type WebhookVerification } from "./verify_webhook.ts";

/** A webhook of the gateway, or why the request is none. */
export type Received =
  | {
    ok: true;
    /** The webhook's id, `wh_…`. */
    subscription: string;
    /** Deduplicate on its `id`: the gateway delivers it at least once. */
    event: GatewayEvent;
    /** The time of the signature, Unix seconds. */
    timestamp: number;
  }
  | Extract<WebhookVerification, { ok: false }>
  | { ok: false; reason: "not_a_webhook"; message: string };

/** A delivery is far smaller. */
const MAX_BODY_BYTES = 65_536;

/**
 * Receives a webhook: reads its body, at most 64 KiB, verifies the gateway's signature with this secret, and returns the
 * event. Needs Web APIs only.
 *
 * @example
 * ```ts
 * const received = await receive(request, secret);
 * if (!received.ok) return new Response(received.message, { status: 400 });
 * if (received.event.type === "payment.authorized") await ship(received.event);
 * return new Response(null, { status: 204 });
 * ```
 *
 * @throws {TypeError} when a secret has the wrong form, which is the receiver's mistake
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
    // Signed, but no JSON: reported below.
  }
  return { ok: false, reason: "not_a_webhook", message: "the body is signed, but is no event" };
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
