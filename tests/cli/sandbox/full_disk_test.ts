// needs: once
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { smallDisk } from "../small_disk.ts";

const disk = smallDisk("2m");
after(() => disk.remove());

test("a sandbox whose disk is full says so once, closes no ledger, and goes on when there is room", {
  skip: !disk.isPossible,
}, () => {
  // What is not the disk's stays beside it. The gateway in there may find its own store full, and says so in its own words.
  const lines = disk.run(`
    until_said() { n=0; until grep -q "$1" "$2" || [ $((n += 1)) -gt 3000 ]; do sleep 0.1; done; }
    "$@" sandbox --json --port 0 --rpc-port 0 --ledger-ms 50 --state state > ../out 2> ../err &
    until_said apiKey ../out
    head -c 4m /dev/zero > other 2> /dev/null
    until_said "none closes" ../err
    sleep 0.5
    rm other
    until_said "goes on" ../err
    kill $!; wait $!; echo $?; grep "the ledger" ../err | cut -d ' ' -f 2-
    "$@" sandbox --json --port 0 --rpc-port 0 --state state > ../again 2>&1 &
    until_said apiKey ../again
    kill $!; wait $!; echo $?
    grep -o '"apiKey":"[^"]*' ../out; grep -o '"apiKey":"[^"]*' ../again`);
  const [stopped, stuck, unstuck, stoppedAgain, key, keyAgain, ...more] = lines;
  assert.match(
    stuck!,
    /^error the ledger cannot be written: none closes until it can error=\/\S+\/state\/ledger\.db: the disk is full, and this change was not written\. Make room on the disk$/,
    lines.join("\n"),
  );
  assert.equal(unstuck, "warn  the ledger can be written again and goes on");
  assert.deepEqual([stopped, stoppedAgain, more], ["0", "0", []]);
  assert.match(key!, /service_sk_/);
  assert.equal(keyAgain, key);
});
