/** Standard base64 of XDR. */
export function toBase64(bytes: Uint8Array): string {
  return bytes.toBase64();
}

/** Base64 of each, in order. */
export function toBase64List(list: Uint8Array[]): string[] {
  return list.map(toBase64);
}

/** The bytes of standard, padded base64. Throws a SyntaxError for anything else. */
export function fromBase64(text: string): Uint8Array {
  return Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
}
