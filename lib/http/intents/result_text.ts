import { Buffer } from "node:buffer";
import { deflateRawSync, inflateRawSync } from "node:zlib";

/** What the store keeps of an intent, in bytes of UTF-8. */
const LONGEST_TEXT_BYTES = 60_000;
/** No JSON begins so. */
const DEFLATED = "deflated ";

/**
 * What came of an intent as the text that is kept: JSON, and where that is longer than the store takes, as for an envelope
 * that names hundreds of ledger entries, deflated, to a tenth.
 */
export function toText(result: object): string {
  const text = JSON.stringify(result);
  return isShort(text) ? text : DEFLATED + deflateRawSync(text).toString("base64");
}

/** What `toText` was given. */
export function fromText<T>(text: string): T {
  if (!isDeflated(text)) return JSON.parse(text);
  return JSON.parse(inflateRawSync(Buffer.from(text.slice(DEFLATED.length), "base64")).toString());
}

/** Whether it was too long to be kept as it is. */
export function isDeflated(text: string): boolean {
  return text.startsWith(DEFLATED);
}

function isShort(text: string): boolean {
  return Buffer.byteLength(text) <= LONGEST_TEXT_BYTES;
}
