import { ledgerFile } from "../../cli/sandbox/folder.ts";
import { openStateFile } from "../../lib/sandbox/ledger/state_file.ts";
import { SANDBOX_PASSPHRASE } from "../../lib/sandbox/network.ts";
import { writeImage } from "./network_image.ts";
import { readyImage } from "./ready_network.ts";

/**
 * Writes a ready network into an existing empty folder. `gateway sandbox --state FOLDER` continues from it and deploys
 * nothing. All networks from such folders have the same accounts.
 */
export async function prepareStateFolder(
  folder: string,
  { passphrase = SANDBOX_PASSPHRASE, now = Date.now }: { passphrase?: string; now?: () => number } = {},
): Promise<void> {
  const image = await readyImage({ passphrase, now });
  const file = await openStateFile(ledgerFile(folder), passphrase);
  try {
    writeImage(image, file);
  } finally {
    file.close();
  }
}
