/** What a process did to one file: wrote bytes, cut it, or had it made sure that everything before is on the disk. */
export interface FileOperation {
  kind: "write" | "truncate" | "sync";
  path: string;
  offset: number;
  bytes: Uint8Array;
}

/** Reads what `record_writes.c` noted. */
export function readOperations(log: Uint8Array): FileOperation[] {
  const kinds = { w: "write", t: "truncate", s: "sync" } as const;
  const text = new TextDecoder();
  const operations: FileOperation[] = [];
  for (let at = 0; at < log.length;) {
    const end = log.indexOf(10, at);
    const [kind, pathLength, offset, length] = text.decode(log.subarray(at, end)).split(" ");
    const pathEnd = end + 1 + Number(pathLength);
    const path = text.decode(log.subarray(end + 1, pathEnd));
    at = pathEnd + Number(length);
    operations.push({ kind: kinds[kind as "w"], path, offset: Number(offset), bytes: log.subarray(pathEnd, at) });
  }
  return operations;
}

/** What a disk writes whole or not at all. */
const SECTOR = 512;

/**
 * What a disk would hold of a file had the power gone after these operations: all that was made sure by a sync, and of
 * what came later any sectors, in no order.
 *
 * @param isKept chosen for each sector and each truncation that was not made sure
 */
export function afterPowerLoss(before: Uint8Array, operations: FileOperation[], isKept: () => boolean): Uint8Array {
  const sureUntil = operations.findLastIndex(({ kind }) => kind === "sync");
  let bytes = new Uint8Array(Math.max(before.length, 1 << 16));
  bytes.set(before);
  let length = before.length;
  const put = (part: Uint8Array, at: number) => {
    if (at + part.length > bytes.length) {
      const larger = new Uint8Array(2 * (at + part.length));
      larger.set(bytes);
      bytes = larger;
    }
    bytes.set(part, at);
    length = Math.max(length, at + part.length);
  };
  for (const [index, { kind, offset, bytes: written }] of operations.entries()) {
    const isSure = index <= sureUntil;
    if (kind === "truncate" && (isSure || isKept())) {
      bytes.fill(0, offset, length);
      length = offset;
    }
    if (kind !== "write") continue;
    for (let at = 0; at < written.length;) {
      const end = Math.min(written.length, at + SECTOR - ((offset + at) % SECTOR));
      if (isSure || isKept()) put(written.subarray(at, end), offset + at);
      at = end;
    }
  }
  return bytes.slice(0, length);
}
