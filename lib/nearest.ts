/**
 * The one of these names that was most likely meant: equal but for its case, or at most a letter in three wrong, missing,
 * too many or swapped with its neighbour; of two that are as near, the one that begins as what was typed. Undefined when
 * none is near.
 */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  const ranked = names
    .map((name) => ({ name, distance: editDistance(typed.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= Math.max(1, Math.floor(name.length / 3)))
    .sort((a, b) => a.distance - b.distance || beginsAs(typed, b.name) - beginsAs(typed, a.name));
  return ranked[0]?.name;
}

function beginsAs(typed: string, name: string): number {
  return Number(typed[0]?.toLowerCase() === name[0]?.toLowerCase());
}

/** The end of a message about a name that there is not: `; did you mean list?`, or nothing. */
export function didYouMean(typed: string, names: readonly string[]): string {
  const near = nearest(typed, names);
  return near === undefined ? "" : `; did you mean ${near}?`;
}

/** Letters to change, add, leave out or swap with the next one (optimal string alignment). */
function editDistance(a: string, b: string): number {
  // No name is that long: what is typed may be.
  if (a.length > 64) return Infinity;
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(Math.min(
        rows[i - 1]![j]! + 1,
        row[j - 1]! + 1,
        rows[i - 1]![j - 1]! + (isSame ? 0 : 1),
        isSwapped ? rows[i - 2]![j - 2]! + 1 : Infinity,
      ));
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}
