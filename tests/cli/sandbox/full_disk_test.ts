// needs: once
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { smallDisk } from "../small_disk.ts";

const disk = smallDisk("2m");
after(() => disk.remove());

test("a sandbox with a full disk logs it once, closes no ledger, and continues when there is room", {
  skip: !disk.isPossible,
}, () => {
  // The output goes outside the small disk. The gateway logs a full store in its own messages.
  const lines = disk.run(`
    until_said() { n=0; until grep -q "$1" "$2" || [ $((n += 1)) -gt 3000 ]; do sleep 0.1; done; }
    "$@" sandbox --json --port 0 --rpc-port 0 --ledger-ms 50 --state state > ../out 2> ../err &
    until_said apiKey ../out
    head -c 4m /dev/zero > other 2> /dev/null
    until_said "no ledger closes" ../err
    sleep 0.5
    rm other
    until_said "can be written again" ../err
    kill $!; wait $!; echo $?; grep "ledger file" ../err | cut -d ' ' -f 2-
    "$@" sandbox --json --port 0 --rpc-port 0 --state state > ../again 2>&1 &
    until_said apiKey ../again
    kill $!; wait $!; echo $?
    grep -o '"apiKey":"[^"]*' ../out; grep -o '"apiKey":"[^"]*' ../again`);
  const [stopped, stuck, unstuck, stoppedAgain, key, keyAgain, ...more] = lines;
  assert.match(
    stuck!,
    /^error ledger file cannot be written; no ledger closes error=\/\S+\/state\/ledger\.db: the disk is full, and this change was not written\. Make room on the disk$/,
    lines.join("\n"),
  );
  assert.equal(unstuck, "warn  ledger file can be written again; ledgers close");
  assert.deepEqual([stopped, stoppedAgain, more], ["0", "0", []]);
  assert.match(key!, /service_sk_/);
  assert.equal(keyAgain, key);
});
