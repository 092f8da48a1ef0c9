/** One line of the table. */
export interface Figure {
  number: string;
  work: string;
  runtime: string;
  measured: string;
  reference: string;
  ratio: string;
  goal: string;
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Median with the spread of all rounds: `0.93 (0.91–0.95)`. */
export function withSpread(values: number[], digits: number): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return `${median(values).toFixed(digits)} (${low.toFixed(digits)}–${high.toFixed(digits)})`;
}

export function table(figures: Figure[]): string {
  const rows = figures.map((f) =>
    `| ${f.number} | ${f.work} | ${f.runtime} | ${f.measured} | ${f.reference} | ${f.ratio} | ${f.goal} |`
  );
  return ["| # | work | runtime | measured | reference | ratio | goal |", "|---|---|---|---|---|---|---|", ...rows]
    .join("\n");
}
