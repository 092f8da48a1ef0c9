import { sentence } from "./terminal/line_width.ts";

/** As long as the gateway itself waits for a receiver. */
const TIMEOUT_MS = 10_000;

/** The headers that prove a delivery. */
const PROOF = ["x-service-signature", "webhook-id", "webhook-timestamp", "webhook-signature"];

/** Those of a delivery that came here which prove it: they go on with it. */
export function signedHeaders(headers: Headers): Record<string, string> {
  return Object.fromEntries(PROOF.flatMap((name) => headers.has(name) ? [[name, headers.get(name)!]] : []));
}

/** Posts a signed body and answers the HTTP status; undefined: there was no answer. */
export async function forward(
  url: string,
  body: string,
  proof: Record<string, string>,
): Promise<number | undefined> {
  const response = await fetch(url, {
    method: "POST",
    headers: { ...proof, "Content-Type": "application/json" },
    body,
    redirect: "manual",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(() => undefined);
  await response?.body?.cancel().catch(() => {});
  return response?.status;
}

/** Tells the receiver's owner where deliveries go and what they are signed with: this once. */
export function forwardingNotice(url: string, secret: string, room: number): string {
  return sentence(`Each is forwarded to ${url}, signed with a secret of this session:`, room) + `  ${secret}\n`;
}
