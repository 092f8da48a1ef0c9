import { readFileSync } from "node:fs";
import { Address, Keypair, nativeToScVal, Operation, xdr } from "@stellar/stellar-sdk";
import { call, card, deviceRegistryWasm, register, TestLedger } from "./engine_fixture.ts";
const l = await TestLedger.open();
const c = l.deploy(deviceRegistryWasm);
const op = register(c, 1);
const s = l.simulate(op);
const body = Operation.invokeContractFunction({ contract: c, function: "get_owner", args: [card(1)] }).body.toXdr();
const cpu = () => { const u = process.cpuUsage(); return (u.user + u.system) / 1000; };
function bench(name: string, n: number, f: () => void) {
  for (let i = 0; i < 50; i++) f();
  const best: number[] = [];
  for (let r = 0; r < 7; r++) { const t = performance.now(), u = cpu(); for (let i = 0; i < n; i++) f(); best.push((performance.now() - t) / n); }
  best.sort((a, b) => a - b);
  console.log(name.padEnd(16), "best", best[0]!.toFixed(3), "median", best[3]!.toFixed(3), "ms");
}
const size = 700, h = l.header;
bench("apply", 200, () => { l.engine.applyInvoke(h, { hostFunction: op, sourceAccount: Keypair.fromRawEd25519Seed(new Uint8Array(32).fill(1)).xdrAccountId().toXdr(), transactionData: s.transactionData, transactionSizeBytes: size, prngSeed: new Uint8Array(32), auth: s.auth }); });
const src = Keypair.fromRawEd25519Seed(new Uint8Array(32).fill(1)).xdrAccountId().toXdr();
const seed = new Uint8Array(32);
bench("apply", 200, () => { l.engine.applyInvoke(h, { hostFunction: op, sourceAccount: src, transactionData: s.transactionData, transactionSizeBytes: size, prngSeed: seed, auth: s.auth }); });
bench("check", 200, () => { l.engine.checkResources(h, { operation: body, transactionData: s.transactionData, transactionSizeBytes: size }); });
bench("simulate", 100, () => { l.simulate(op); });
console.log("memory MiB", l.engine.memoryBytes() / 1048576);
