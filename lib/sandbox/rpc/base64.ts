/** Standard base64 of XDR. */
export function toBase64(bytes: Uint8Array): string {
  return bytes.toBase64();
}

/** The bytes of standard, padded base64. Throws a SyntaxError for anything else. */
export function fromBase64(text: string): Uint8Array {
  return Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
}
