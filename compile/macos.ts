import { closeSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import process from "node:process";

const MACH_O_64 = 0xfeedfacf;
const X86_64 = 0x01000007;
const LC_SEGMENT_64 = 0x19;
const LC_CODE_SIGNATURE = 0x1d;
const HEADER_BYTES = 32;

/**
 * Removes the code signature of an executable for macOS on x86-64. Other executables stay as they are.
 *
 * Bun signs its executables for arm64 again, but leaves Oven's broken signature on those for x86-64. There macOS needs none.
 * Layout: Apple's mach-o/loader.h.
 *
 * @returns whether it removed a signature
 * @throws {Error} when the signature is not at the end of the file, as the format requires
 */
export function removeSignature(path: string): boolean {
  const file = openSync(path, "r+");
  try {
    const header = readAt(file, 0, HEADER_BYTES);
    if (header.getUint32(0, true) !== MACH_O_64 || header.getUint32(4, true) !== X86_64) return false;
    const commandBytes = header.getUint32(20, true);
    const commands = readAt(file, HEADER_BYTES, commandBytes);
    const signature = findCommand(commands, (kind) => kind === LC_CODE_SIGNATURE);
    if (signature === undefined) return false;
    const linkEdit = findCommand(
      commands,
      (kind, at) => kind === LC_SEGMENT_64 && segmentName(commands, at) === "__LINKEDIT",
    );
    const size = commands.getUint32(signature + 4, true);
    const dataOffset = commands.getUint32(signature + 8, true);
    if (linkEdit === undefined || signature + size !== commandBytes) {
      throw new Error(`${path}: the signature is not last`);
    }

    // fileoff and filesize of the segment that ends with the signature and the file.
    const segmentOffset = Number(commands.getBigUint64(linkEdit + 40, true));
    commands.setBigUint64(linkEdit + 48, BigInt(dataOffset - segmentOffset), true);
    for (let at = signature; at < commandBytes; at++) commands.setUint8(at, 0);
    header.setUint32(16, header.getUint32(16, true) - 1, true);
    header.setUint32(20, commandBytes - size, true);
    writeSync(file, bytesOf(header), 0, HEADER_BYTES, 0);
    writeSync(file, bytesOf(commands), 0, commandBytes, HEADER_BYTES);
    ftruncateSync(file, dataOffset);
    return true;
  } finally {
    closeSync(file);
  }
}

function findCommand(commands: DataView, isWanted: (kind: number, at: number) => boolean): number | undefined {
  for (let at = 0; at + 8 <= commands.byteLength; at += commands.getUint32(at + 4, true)) {
    if (isWanted(commands.getUint32(at, true), at)) return at;
  }
  return undefined;
}

function segmentName(commands: DataView, at: number): string {
  return new TextDecoder().decode(new Uint8Array(commands.buffer, at + 8, 16)).replace(/\0+$/, "");
}

function readAt(file: number, position: number, length: number): DataView {
  const bytes = new Uint8Array(length);
  readSync(file, bytes, 0, length, position);
  return new DataView(bytes.buffer);
}

function bytesOf(view: DataView): Uint8Array {
  return new Uint8Array(view.buffer);
}

if (import.meta.main) removeSignature(process.argv[2]!);
