/** The needs of a test file, from its first line: `// needs: runtime`, or `// needs: long, once`. */
export interface Needs {
  /** `neutral`: any one runtime. `runtime`: both. `once`: the same on both runtimes, like a browser or the executable. */
  on: "neutral" | "runtime" | "once";
  /** Whether the whole file runs only in `npm run test:all`. */
  isLong: boolean;
}

const FIRST_LINE = /^\/\/ needs: (long, )?(neutral|runtime|once)\n/;

/** Reads the first line of a file of tests; undefined when it does not say what the file needs. */
export function needsOf(text: string): Needs | undefined {
  const found = FIRST_LINE.exec(text);
  return found ? { on: found[2] as Needs["on"], isLong: found[1] !== undefined } : undefined;
}

/** The file's imports from the project, as written. */
export function importsOf(text: string): string[] {
  return [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+\.ts)"/g)].map((match) => match[1]!);
}
