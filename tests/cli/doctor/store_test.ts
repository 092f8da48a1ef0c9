// needs: once
import assert from "node:assert/strict";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import process from "node:process";
import { describe, test } from "node:test";
import { runtimeName } from "../../../lib/runtime/runtime.ts";
import { openSqlite } from "../../../lib/runtime/sqlite.ts";
import { openStore } from "../../../lib/store/open.ts";
import { rekeySecrets, sealSecrets } from "../../../lib/webhooks/secrets/reseal.ts";
import { createSecretCipher } from "../../../lib/webhooks/secrets/secrets.ts";
import { sampleKey } from "../../store/samples.ts";
import { doctorOfFile, type DoctorStage, says } from "./stage.ts";

const doctor = doctorOfFile();

describe("doctor: the store", () => {
  test("a store that does not exist yet is ok, and the doctor does not create it", async () => {
    const path = doctor.newPath();
    says(await doctor.finding("store", { store: `sqlite:${path}` }), "ok", /does not exist yet/);
    await assert.rejects(openSqlite(path, { readOnly: true }));
  });

  test("a store that a gateway uses is ok", async () => {
    const setting = `sqlite:${doctor.newPath()}`;
    const store = await openStore(setting);
    await store.holdForServing();
    says(await doctor.finding("store", { store: setting }), "ok", /a gateway serves from it/);
    await store.close();
  });

  test("a store of another network, with a newer schema or in a missing directory fails", async () => {
    const bound = await doctor.storeWith((store) => store.network.bind("Another Network"));
    says(
      await doctor.finding("store", { store: bound }),
      "fail",
      /belongs to the network "Another Network"/,
      /PASSPHRASE/,
    );
    const newer = await doctor.storeWith(async () => {});
    const database = await openSqlite(newer.slice(7));
    database.exec("PRAGMA user_version = 99");
    database.close();
    says(await doctor.finding("store", { store: newer }), "fail", /newer version/, /run the newer version/);
    says(
      await doctor.finding("store", { store: `sqlite:${doctor.folder}/none/g.db` }),
      "fail",
      /no directory/,
      /^create the directory, or correct SERVICE_API_STORE \(--store\)$/,
    );
  });

  test("a store that cannot be written is reported with advice on owner and mode of its folder", async () => {
    // No mode keeps root out, but /proc takes no files.
    const closed = process.getuid?.() === 0 ? "/proc" : doctor.newPath("closed");
    if (closed !== "/proc") await mkdir(closed, { mode: 0o500 });
    const finding = await doctor.finding("store", { store: `sqlite:${closed}/gateway.db` });
    says(finding, "fail", new RegExp(`no file can be created in ${closed}`), /owner and mode of the file and its dir/);
  });

  test("an unknown form of a store gets advice on the right form", async () => {
    const name = /^name a file in SERVICE_API_STORE \(--store\), such as sqlite:gateway\.db$/;
    const unknown = ["mysql://x", "gateway.db", "sqlite:", ...(runtimeName === "deno" ? [] : ["deno-kv:x"])];
    for (const store of unknown) says(await doctor.finding("store", { store }), "fail", /sqlite:PATH/, name);
    says(await doctor.finding("store", { store: "memory:" }), "warn", /loses all data/, name);
  });

  test("a store that another program has locked differs from one that a gateway uses", async () => {
    const setting = await doctor.storeWith(async () => {});
    const other = await openSqlite(setting.slice(7));
    other.exec("BEGIN EXCLUSIVE");
    says(await doctor.finding("store", { store: setting }), "fail", /is locked by another process/, /lsof/);
    other.close();
  });
});

describe("doctor: keys and secrets", () => {
  test("no key, and no working key, are warnings", async () => {
    says(await doctor.finding("api keys"), "warn", /holds no API keys/, /gateway keygen/);
    const disabled = await doctor.storeWith((store) => store.keys.insert(sampleKey("a", { disabled: true })));
    says(await doctor.finding("api keys", { store: disabled }), "warn", /none of the 1 keys/, /keys enable/);
  });

  test("the advice about keys names the place of the settings, and does not enable an expired key", async () => {
    const todo = async (settings: Parameters<DoctorStage["finding"]>[1]) =>
      (await doctor.finding("api keys", settings)).todo!;
    const store = `sqlite:${doctor.newPath("a store.db")}`;
    assert.ok((await todo({ store })).endsWith(` --store '${store}'`));
    const disabled = await doctor.storeWith((store) => store.keys.insert(sampleKey("a", { disabled: true })));
    assert.ok((await todo({ store: disabled })).endsWith(`gateway keys enable ID --store ${disabled}`));
    const expired = sampleKey("a", { disabled: true, expiresAt: "2020-01-01T00:00:00.000Z" });
    const keysFile = doctor.newPath("keys.json");
    await writeFile(keysFile, JSON.stringify([expired]), { mode: 0o600 });
    assert.match(await todo({ keysFile }), new RegExp(`^create one: gateway keygen .* --keys-file ${keysFile}$`));
    for (const keys of ["[]", JSON.stringify([sampleKey("a", { disabled: true })])]) {
      assert.match(await todo({ keys }), /gateway keygen --record into SERVICE_API_KEYS/);
    }
  });

  test("a keys file that is missing, wrong or readable by others is reported", async () => {
    const keysFile = doctor.newPath("keys.json");
    says(await doctor.finding("api keys", { keysFile }), "warn", /does not exist/, /keygen .*--keys-file/);
    await writeFile(keysFile, "{", { mode: 0o600 });
    says(await doctor.finding("api keys", { keysFile }), "fail", new RegExp(keysFile));
    await writeFile(keysFile, JSON.stringify([sampleKey("a")]));
    says(await doctor.finding("api keys", { keysFile }), "ok", /1 of 1 .* works/);
    await chmod(keysFile, 0o644);
    says(await doctor.finding("api keys", { keysFile }), "fail", /mode 644/, /chmod 600/);
  });

  test("SERVICE_API_KEYS is read too", async () => {
    says(await doctor.finding("api keys", { keys: JSON.stringify([sampleKey("a")]) }), "ok", /SERVICE_API_KEYS/);
    says(await doctor.finding("api keys", { keys: "[{}]" }), "fail", /SERVICE_API_KEYS: key record 1/);
  });

  test("a missing, different or malformed secrets key is reported", async () => {
    const secretsKey = "ab".repeat(32);
    const setting = await doctor.storeWith((store) => sealSecrets(store, createSecretCipher(secretsKey)));
    says(await doctor.finding("webhook secrets", { store: setting, secretsKey }), "ok", /encrypted with the key/);
    says(await doctor.finding("webhook secrets", { store: setting }), "fail", /SERVICE_API_SECRETS_KEY is not set/);
    const another = await doctor.finding("webhook secrets", { store: setting, secretsKey: "cd".repeat(32) });
    says(another, "fail", /not the key/);
  });

  test("an interrupted change of the secrets key is reported with any key, because no gateway starts", async () => {
    const keys = ["ab".repeat(32), "cd".repeat(32)] as const;
    const [from, to] = [createSecretCipher(keys[0]), createSecretCipher(keys[1])];
    const store = await doctor.storeWith(async (store) => {
      await sealSecrets(store, from);
      const list = () => Promise.reject(new Error("killed"));
      const dying = { subscriptions: { ...store.subscriptions, list } };
      await assert.rejects(rekeySecrets(dying, { from, to }), /killed/);
      await assert.rejects(sealSecrets(store, from), /was interrupted/);
    });
    for (const secretsKey of [...keys, undefined]) {
      const found = await doctor.finding("webhook secrets", { store, ...(secretsKey && { secretsKey }) });
      says(found, "fail", /SERVICE_API_SECRETS_KEY was interrupted; run `gateway secrets rekey` again/);
    }
  });
});
