const decoder = new TextDecoder();
const encoder = new TextEncoder();

/**
 * What a stranger's bytes say, as text that is safe to store, log and show on a terminal: at most `maxBytes` of UTF-8,
 * without control characters other than tab and line feed, and without what turns the direction of text.
 */
export function printable(bytes: Uint8Array, maxBytes: number): string {
  const decoded = decoder.decode(bytes);
  if (bytes.length <= maxBytes && /^[\t\n\x20-\x7e]*$/.test(decoded)) return decoded;
  const text = decoded
    // Half a character at the end, where it was cut.
    .replace(/\ufffd{1,3}$/, "")
    .replace(/(?![\t\n])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, "");
  const { read } = encoder.encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read);
}
