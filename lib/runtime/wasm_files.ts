export type WasmName = "engine_27" | "engine_28" | "device_registry" | "agent_registry" | "payment_escrow";

/** The bytes of a wasm file of the sandbox, from the source tree or from the executable. */
export async function readWasm(name: WasmName): Promise<Uint8Array<ArrayBuffer>> {
  if (typeof Bun === "undefined") return await Deno.readFile(new URL(`../sandbox/wasm/${name}.wasm`, import.meta.url));
  const { default: path } = await EMBEDDED[name]();
  return await Bun.file(path as unknown as string).bytes();
}

/** Bun embeds a file import into the executable, and returns the path to read it from. */
const EMBEDDED = {
  engine_27: () => import("../sandbox/wasm/engine_27.wasm", { with: { type: "file" } }),
  engine_28: () => import("../sandbox/wasm/engine_28.wasm", { with: { type: "file" } }),
  device_registry: () => import("../sandbox/wasm/device_registry.wasm", { with: { type: "file" } }),
  agent_registry: () => import("../sandbox/wasm/agent_registry.wasm", { with: { type: "file" } }),
  payment_escrow: () => import("../sandbox/wasm/payment_escrow.wasm", { with: { type: "file" } }),
};
