import { readFile } from "node:fs/promises";
import { verifyWebhook, type WebhookHeaders } from "../lib/client/verify_webhook.ts";
import { type Command, type CommandIo, type Flags, integerFlag, parseFlags, UsageError } from "./command.ts";

const help = `Usage: gateway verify --signature 't=…,v1=…' [--body FILE] [--tolerance SECONDS] [--at TIME]
       gateway verify --signature 'v1,…' --id ID --timestamp T [--body FILE] [--tolerance SECONDS] [--at TIME]

Tells whether a webhook was signed with your subscription's secret. Exit code 0: it was; 1: it was not, and why.

  --signature TEXT     the X-Service-Signature header; or webhook-signature, which needs the two that came with it:
  --id ID              the webhook-id header
  --timestamp T        the webhook-timestamp header
  --body FILE          the body, byte for byte as it came; without it, standard input
  --tolerance SECONDS  how far the signature's time may be from now, to either side: 300 by default
  --at TIME            check as of this time instead of now: Unix seconds

The secret (whsec_…) comes from SERVICE_WEBHOOK_SECRET or, when that is not set and the body is a file, from the first
line of standard input: arguments would show it to every user of the machine.

Examples:
  SERVICE_WEBHOOK_SECRET=whsec_… gateway verify --signature 't=1767225600,v1=5f0e…' < body.json
  gateway verify --signature 't=1767225600,v1=5f0e…' --body body.json --at 1767225600 < secret.txt
`;

const FLAGS = {
  signature: "text",
  id: "text",
  timestamp: "text",
  body: "text",
  tolerance: "text",
  at: "text",
} as const;

/** A tolerance, or a Unix time up to the year 5138. */
const SECONDS = { min: 0, max: 99_999_999_999 };

const SECRET_VARIABLE = "SERVICE_WEBHOOK_SECRET";

export const command: Command = { name: "verify", summary: "Verify a webhook's signature", help, run };

async function run(args: string[], io: CommandIo): Promise<number> {
  const { flags, positionals } = parseFlags(args, FLAGS);
  if (positionals.length > 0) throw new UsageError(`unexpected ${JSON.stringify(positionals[0])}`);
  const headers = headersOf(flags);
  const toleranceSeconds = integerFlag("--tolerance", flags.tolerance ?? "300", SECONDS);
  const nowMs = flags.at === undefined ? io.now() : integerFlag("--at", flags.at, SECONDS) * 1000;
  const { secret, body } = await readInputs(flags.body, io);
  const verify = (bytes: Uint8Array) => verifyWebhook({ body: bytes, headers, secret, toleranceSeconds, nowMs });

  const verified = await verify(body);
  if (verified.ok) {
    io.stdout(`The signature is right. Signed at ${new Date(verified.timestamp * 1000).toISOString()}\n`);
    return 0;
  }
  io.stderr(`gateway verify: ${verified.message}\n`);
  // Editors and shells add a newline that was never sent: the likeliest mistake with a saved body.
  if (verified.reason === "wrong_signature" && (await verify(withoutNewline(body))).ok) {
    io.stderr("It is right without the newline at the end of the body: save the body exactly as it came.\n");
  }
  return 1;
}

function headersOf({ signature, id, timestamp }: Flags<typeof FLAGS>): WebhookHeaders {
  if (signature === undefined) throw new UsageError("--signature is missing: give it the X-Service-Signature header");
  if (!signature.startsWith("v1,")) {
    const extra = id !== undefined ? "--id" : timestamp !== undefined ? "--timestamp" : undefined;
    if (extra === undefined) return signature;
    throw new UsageError(`${extra} belongs to a --signature that starts with v1, (the webhook-signature header)`);
  }
  if (id === undefined) throw new UsageError("--id is missing: a webhook-signature is checked with its webhook-id");
  if (timestamp === undefined) {
    throw new UsageError("--timestamp is missing: a webhook-signature is checked with its webhook-timestamp");
  }
  return { "webhook-signature": signature, "webhook-id": id, "webhook-timestamp": timestamp };
}

async function readInputs(file: string | undefined, io: CommandIo): Promise<{ secret: string; body: Uint8Array }> {
  const fromEnvironment = io.env[SECRET_VARIABLE];
  if (fromEnvironment !== undefined && fromEnvironment !== "") {
    return {
      secret: checkedSecret(fromEnvironment, SECRET_VARIABLE),
      body: file === undefined ? await io.stdin() : await readBody(file),
    };
  }
  if (file === undefined) {
    throw new UsageError(
      `no secret: set ${SECRET_VARIABLE}, or give the body as --body FILE and the secret on standard input`,
    );
  }
  const body = await readBody(file);
  const line = io.ask === undefined ? firstLine(await io.stdin()) : await io.ask("Secret: ");
  return { secret: checkedSecret(line, "the first line of standard input"), body };
}

async function readBody(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new UsageError(`--body cannot be read: ${(error as NodeJS.ErrnoException).code} ${path}`);
  }
}

function firstLine(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).split("\n", 1)[0]!;
}

/** The message never holds what was there. */
function checkedSecret(text: string, where: string): string {
  const secret = text.trim();
  if (/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret)) return secret;
  throw new UsageError(`${where} must be a webhook's secret: whsec_ and base64`);
}

function withoutNewline(bytes: Uint8Array): Uint8Array {
  const end = bytes.at(-1) === 10 ? (bytes.at(-2) === 13 ? -2 : -1) : undefined;
  return bytes.subarray(0, end);
}
