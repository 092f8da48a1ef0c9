// The reference of the HTTP figures: the runtime's own server answering the same bytes and headers, doing nothing else.
import process from "node:process";
import { serveBare } from "./serve_bare.ts";

const { body, headers } = JSON.parse(process.argv[2]!) as { body: string; headers: Record<string, string> };
const port = serveBare(() => new Response(body, { headers: { ...headers } }));
process.stdout.write(`${port}\n`);
