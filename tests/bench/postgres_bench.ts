import process from "node:process";
import { type Cluster, findPostgres, startCluster } from "../store/postgres_cluster.ts";
import { type Figure, table } from "./figures.ts";
import { postgresDeliveryFigures } from "./postgres_deliveries.ts";
import { postgresReadFigures } from "./postgres_reads.ts";
import type { RuntimeName } from "./processes.ts";

/** What is measured on, and for how long. */
export interface PostgresBench {
  root: string;
  runtime: RuntimeName;
  cluster: Cluster;
  rounds: number;
  overloadSeconds: number;
  /** Two gateways have shared the subscriptions after six seconds, and the JIT of the second is warm some later. */
  warmUpSeconds: number;
  deliverySeconds: number;
  heldSeconds: number;
}

const WHOLE = { rounds: 5, overloadSeconds: 60, warmUpSeconds: 12, deliverySeconds: 10, heldSeconds: 600 };
const SHORT = { rounds: 1, overloadSeconds: 10, warmUpSeconds: 12, deliverySeconds: 3, heldSeconds: 20 };

/** #14: several gateways on a PostgreSQL server that writes its log to the disk at each commit, as one does in use. */
export async function postgresFigures(root: string, runtime: RuntimeName, isShort: boolean): Promise<Figure[]> {
  const programs = findPostgres();
  if (programs === undefined) throw new Error("PostgreSQL is not here: apt install postgresql");
  // The cluster of the tests is made small; this is PostgreSQL's own default.
  const cluster = await startCluster(programs, { isDurable: true, settings: ["shared_buffers = 128MB"] });
  try {
    const bench = { root, runtime, cluster, ...(isShort ? SHORT : WHOLE) };
    const reads = await postgresReadFigures(bench);
    process.stderr.write(`${table(reads)}\n`);
    return [...reads, ...await postgresDeliveryFigures(bench)];
  } finally {
    await cluster.remove();
  }
}
