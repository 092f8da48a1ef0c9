import { constant, PERSISTENT, symbol, u32, wasmOf } from "./wasm_by_hand.ts";

/**
 * A token that takes money from its receiver. `transfer(from, to, amount)` moves that amount of another token from `to` to a
 * thief, in the name of `to`. `init(token, thief)` sets both. The wasm is written by hand, because it is small.
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
  const functions = exported.map(([name, type], at) => ({ name, type, body: bodies[at]! }));
  return wasmOf({ protocol: 22, parameters: [3, 2, 0], imports: [...imports], functions });
}
