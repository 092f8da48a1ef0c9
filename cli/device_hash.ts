import { deviceHash, isRandomUid } from "../lib/client/device_hash.ts";
import { type Command, parseFlags, UsageError } from "./command.ts";
import { helpText } from "./help.ts";
import { decodedText } from "../lib/decoded_text.ts";

const FLAGS = [] as const;

export const command: Command = {
  help: helpText({
    usage: ["device-hash UID…", "device-hash - < FILE"],
    about: "Prints the deviceHash of cards, one a line: the SHA-256 of the bytes of a card's UID.\n\n" +
      "A UID has 4, 7 or 10 bytes, written as hex digits in any case, with or without a colon, a dash or a space " +
      "between bytes. With - the command reads UIDs from standard input, one a line, so that no process list shows them.",
    notes: "A UID of 4 bytes that begins with 08 is random: the card shows another one each time.",
    examples: ["gateway device-hash 04:A2:2B:11:5C:80:01", "gateway device-hash - < uids.txt"],
  }),
  async run(args, io) {
    const { positionals } = parseFlags(args, FLAGS);
    if (positionals.length === 0) throw new UsageError("UID is missing: gateway device-hash 04:A2:2B:11:5C:80:01");
    const isPiped = positionals.length === 1 && positionals[0] === "-";
    const given = isPiped ? decodedText(await io.stdin()).split("\n") : positionals;
    const uids = given.map((uid) => uid.trim()).filter((uid) => uid !== "");
    // All of them first: half a list would be taken for a whole one.
    const hashes = await Promise.all(uids.map(hashOf));
    for (const uid of uids.filter(isRandomUid)) {
      io.stderr(`gateway device-hash: ${uid} is random, the card shows another UID each time\n`);
    }
    io.stdout(hashes.map((hash) => `${hash}\n`).join(""));
    return 0;
  },
};

async function hashOf(uid: string): Promise<string> {
  try {
    return await deviceHash(uid);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
