// needs: runtime
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { assertPinned, ownNetwork } from "../faults/pinning.ts";
import { type ServeProcess, startServe } from "../faults/serve_process.ts";
import { longOnly } from "../tier.ts";
import { flagsFor, makeKey, type SandboxProcess, sourceCommand, startSandbox } from "./sandbox_process.ts";
import { tellStory } from "./story.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url).href);
const { tasks } = JSON.parse(readFileSync(join(ROOT, "deno.json"), "utf8"));

/** The flags of `deno run` in a command. */
const flagsIn = (command: string) =>
  [...command.matchAll(/ (--[\w-]+(?:=\S+)?)/g)].map(([, flag]) => flag!.replaceAll("'", ""));
const GRANTED = flagsIn(tasks.serve);

test("no task that runs the gateway has the permission to load native libraries or start programs", () => {
  for (const name of ["gateway", "serve", "sandbox"]) {
    assert.doesNotMatch(tasks[name], / -A\b|--allow-(all|ffi|run|sys|import)/, name);
  }
  assert.match(
    readFileSync(join(ROOT, "compile.sh"), "utf8"),
    /compile --allow-net --allow-env --allow-read --allow-write /,
  );
});

test("the install page shows the permissions of the task, with the folders of the store and the reference", () => {
  const page = readFileSync(join(ROOT, "docs/install.md"), "utf8");
  const shown = flagsIn(/deno run --no-prompt(?:[^`]|\\\n)* serve/.exec(page)![0]);
  const reference = "lib/http/pages/reference";
  const wanted = GRANTED.map((flag) =>
    flag.replace("read=.", `read=/var/lib/gateway,${reference}`).replace("write=.", "write=/var/lib/gateway")
  );
  assert.deepEqual(shown, wanted);
});

describe("with these permissions", { skip: !("deno" in process.versions) && "Bun has no permissions" }, () => {
  /** The program, with a store in this folder. */
  const commandIn = (folder: string) => {
    const reference = join(ROOT, "lib/http/pages/reference");
    const granted = GRANTED.map((flag) =>
      flag.replace("read=.", `read=${folder},${reference}`).replace("write=.", `write=${folder}`)
    );
    return [process.execPath, "run", "--no-check", ...granted, join(ROOT, "main.ts")];
  };
  let folder: string;
  let sandbox: SandboxProcess;
  let gateway: ServeProcess;
  let key: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "gateway-permissions-"));
    sandbox = await startSandbox();
    const store = `deno-kv:${join(folder, "gateway.kv")}`;
    const command = commandIn(folder);
    const env = { SERVICE_API_METRICS_TOKEN: "scrape-me-0123456789" };
    // The gateway creates the store itself.
    gateway = await startServe(flagsFor(sandbox.info, { store }), { command, env });
    key = await makeKey(sourceCommand(), store, { scopes: "read,write,webhooks", rate: 10_000 });
  });
  after(async () => {
    gateway?.kill();
    await sandbox?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  // This story counts all events, so it runs first.
  test("a card passes through its whole life", async () => {
    await tellStory({ ...sandbox.info, gateway: gateway.url, apiKey: key });
  });

  test("the gateway serves pages and metrics", async () => {
    for (const path of ["/console", "/docs/settings", "/docs/reference", "/docs/reference/scalar.js", "/metrics"]) {
      const answer = await fetch(gateway.url + path, { headers: { authorization: "Bearer scrape-me-0123456789" } });
      assert.equal(answer.status, 200, path);
      assert.ok((await answer.text()).length > 500, path);
    }
  });

  test("the gateway logs no refused permission, and stops cleanly on SIGTERM", async () => {
    gateway.signal("SIGTERM");
    assert.equal(await gateway.ended, 0);
    assert.doesNotMatch(gateway.log(), /NotCapable|Requires .* access|EACCES|EPERM/);
  });

  test(
    "the gateway posts webhooks to public addresses only",
    { skip: longOnly || ownNetwork === undefined },
    async () => {
      await assertPinned(commandIn(tmpdir()));
    },
  );
});
