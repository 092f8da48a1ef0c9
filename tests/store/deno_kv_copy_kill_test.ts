// needs: runtime
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { spawnSync } from "node:child_process";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { openStore } from "../../lib/store/open.ts";
import { makeFormerKvFile } from "./former_store.ts";

const dying = (path: string) => `
  import { openKv } from ${JSON.stringify(new URL("../../lib/runtime/kv.ts", import.meta.url).href)};
  import { migrate } from ${JSON.stringify(new URL("../../lib/store/deno_kv/migration.ts", import.meta.url).href)};
  const real = await openKv(${JSON.stringify(path)});
  // Killed as soon as the first commit of the migration is on the disk.
  const kv = new Proxy(real, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (name !== "atomic") return typeof value === "function" ? value.bind(target) : value;
      return () => {
        const atomic = target.atomic();
        const commit = atomic.commit.bind(atomic);
        atomic.commit = async () => {
          await commit();
          Deno.kill(Deno.pid, "SIGKILL");
          return await new Promise(() => {});
        };
        return atomic;
      };
    },
  });
  await migrate({ kv, file: ${JSON.stringify(path)}, location: "deno-kv:" });
`;

test("a migration of Deno KV that is killed after its first commit has kept the file as it was", {
  skip: runtimeName !== "deno",
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "kv-copy-"));
  const path = join(folder, "gateway.kv");
  makeFormerKvFile(path, 2);
  const options = {
    input: dying(path),
    cwd: fileURLToPath(new URL("../..", import.meta.url).href),
    encoding: "utf8",
  } as const;
  const died = spawnSync(process.execPath, ["run", "-A", "--no-check", "--unstable-kv", "-"], options);
  assert.equal(died.signal, "SIGKILL", died.stderr);
  const notices: string[] = [];
  await (await openStore(`deno-kv:${path}`, { onNotice: (notice) => notices.push(notice) })).close();
  const beside = readdirSync(folder).filter((name) => name.includes(".v2-"));
  rmSync(folder, { recursive: true });
  assert.match(beside.join(), /^gateway\.kv\.v2-\d{8}T\d{6}Z\.bak$/);
});
