/** Decodes a part of a URL; undefined when a % in it is invalid. */
export function percentDecoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
