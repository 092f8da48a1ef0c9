/**
 * The text of bytes from a file or a pipe: UTF-8, or UTF-16 with its byte order mark, as PowerShell's `>` writes it. The
 * mark is no part of the text.
 */
export function decodedText(bytes: Uint8Array): string {
  const isUtf16 = (first: number, second: number) => bytes[0] === first && bytes[1] === second;
  if (isUtf16(0xff, 0xfe)) return new TextDecoder("utf-16le").decode(bytes);
  if (isUtf16(0xfe, 0xff)) return new TextDecoder("utf-16be").decode(bytes);
  return new TextDecoder().decode(bytes);
}
