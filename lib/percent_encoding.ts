/** The text that a part of a URL stands for; undefined where a % in it is followed by nothing that it could mean. */
export function percentDecoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
