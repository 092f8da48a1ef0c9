/**
 * The name that was most likely meant, undefined when none is near. It differs in case alone, or a third of its letters
 * may be wrong, missing, added or swapped with a neighbour. Between two equally near names, the same first letter
 * decides.
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

/** The end of a message about an unknown name: `; did you mean list?`, or nothing. */
export function didYouMean(typed: string, names: readonly string[]): string {
  const near = nearest(typed, names);
  return near === undefined ? "" : `; did you mean ${near}?`;
}

/** Letters to change, add, remove or swap with the next one (optimal string alignment). */
function editDistance(a: string, b: string): number {
  // No name is that long, but the input may be.
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
