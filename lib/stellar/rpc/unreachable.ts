/** What runtimes say of a connection that did not come about, in codes or in words, and what it means. */
const REASONS: [RegExp, string][] = [
  [/ENOTFOUND|EAI_AGAIN|dns error|lookup address/i, "its name was not found"],
  [/ECONNREFUSED|connection refused/i, "the connection was refused"],
  [/certificate|\bCERT_|SELF_SIGNED|UNABLE_TO_|ALTNAME/i, "its certificate is not accepted"],
  [/ENETUNREACH|EHOSTUNREACH|unreachable/i, "there is no route to it"],
  [/ECONNRESET|EPIPE|reset|closed|disconnect/i, "the connection broke off"],
];

/**
 * Why a `fetch` failed, in words of our own, empty when that is not known. The error itself must not be kept: Deno writes
 * the whole URL into it, and the URL of a node may hold a token.
 */
export function unreachableReason(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    const text = `${(at as { code?: unknown }).code} ${at.message}`.replace(/\bhttps?:\/\/\S*/g, "");
    const known = REASONS.find(([pattern]) => pattern.test(text));
    if (known !== undefined) return known[1];
  }
  return "";
}
