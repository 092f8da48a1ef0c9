/** A word as a POSIX shell reads it back, whatever is in it. */
export function shellWord(text: string): string {
  return /^[\w:/.@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
