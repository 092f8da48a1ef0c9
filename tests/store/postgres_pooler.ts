import { rmSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as passed } from "node:timers/promises";
import { freePort, serverDirectory, startServer, writeServerFile } from "./postgres_programs.ts";

/** pgbouncer before a server. It gives a connection to one transaction after the other. */
export interface Pooler {
  port: number;
  stop(): Promise<void>;
}

/** @param poolSize connections to each database of the server */
export async function startPooler(pgbouncer: string, serverPort: number, poolSize: number): Promise<Pooler> {
  const directory = serverDirectory();
  const port = await freePort();
  const file = join(directory, "pgbouncer.ini");
  writeServerFile(
    file,
    `[databases]\n* = host=127.0.0.1 port=${serverPort} user=postgres\n` +
      `[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =\nauth_type = any\n` +
      `pool_mode = transaction\ndefault_pool_size = ${poolSize}\nlogfile = /dev/null\n`,
  );
  const pooler = startServer([pgbouncer, file], "INT");
  for (let tries = 0; !await accepts(port); tries++) {
    if (tries === 200 || pooler.exitCode !== null) throw new Error("pgbouncer does not listen");
    await passed(50);
  }
  return {
    port,
    async stop() {
      pooler.stdin!.end();
      await new Promise((resolve) => pooler.once("exit", resolve));
      rmSync(directory, { recursive: true });
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
