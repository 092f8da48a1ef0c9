/**
 * Small contracts, written by hand. Soroban-env's module and function names are single letters, and values are 64 bits with
 * their type in the lowest eight.
 */
export interface HandWritten {
  /** The protocol that the contract needs. */
  protocol: number;
  /** The number of parameters of each type of function. Every function returns one value. */
  parameters: number[];
  /** Module, name and type of each function of the host. */
  imports: (readonly [module: string, name: string, type: number])[];
  functions: { name: string; type: number; body: number[] }[];
}

/** Assembles a contract. */
export function wasmOf({ protocol, parameters, imports, functions }: HandWritten): Uint8Array<ArrayBuffer> {
  const type = (count: number) => [0x60, ...list(Array(count).fill([0x7e])), 1, 0x7e];
  return new Uint8Array([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(0, [...text("contractenvmetav0"), 0, 0, 0, 0, 0, 0, 0, protocol, 0, 0, 0, 0]),
    ...section(1, list(parameters.map(type))),
    ...section(2, list(imports.map(([module, name, of]) => [...text(module), ...text(name), 0, of]))),
    ...section(3, list(functions.map(({ type }) => [type]))),
    ...section(7, list(functions.map(({ name }, at) => [...text(name), 0, imports.length + at]))),
    ...section(10, list(functions.map(({ body }) => sized([0, ...body, 0x0b])))),
  ]);
}

/** A number of the host's, not a value. */
export const PERSISTENT = constant(1n);

export function u32(value: number): bigint {
  return BigInt(value) << 32n | 4n;
}

export function symbol(name: string): bigint {
  const letters = "_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  return [...name].reduce((bits, letter) => bits << 6n | BigInt(letters.indexOf(letter) + 1), 0n) << 8n | 14n;
}

/** `i64.const`, signed LEB128. */
export function constant(value: bigint): number[] {
  const bytes = [0x42];
  for (let left = BigInt.asIntN(64, value);; left >>= 7n) {
    const byte = Number(left & 0x7fn);
    const isLast = left >> 6n === 0n || left >> 6n === -1n;
    bytes.push(isLast ? byte : byte | 0x80);
    if (isLast) return bytes;
  }
}

function length(value: number): number[] {
  return value < 0x80 ? [value] : [value & 0x7f | 0x80, ...length(value >> 7)];
}

function sized(bytes: number[]): number[] {
  return [...length(bytes.length), ...bytes];
}

function text(name: string): number[] {
  return sized([...new TextEncoder().encode(name)]);
}

function list(items: number[][]): number[] {
  return [...length(items.length), ...items.flat()];
}

function section(id: number, bytes: number[]): number[] {
  return [id, ...sized(bytes)];
}
