import postgres from "postgres";

/** Somebody else's transaction that is begun and not ended: with a snapshot and a number, so that nothing it may see is cleared up. */
export interface HeldTransaction {
  /** Ends it. Void (throws) when it was ended before. */
  release(): Promise<void>;
}

export async function holdTransaction(location: string): Promise<HeldTransaction> {
  const sql = postgres(location, { max: 1, onnotice: () => {} });
  const other = await sql.reserve();
  await other`BEGIN ISOLATION LEVEL REPEATABLE READ`;
  const number = async () => (await other`SELECT pg_current_xact_id()::text AS number`)[0]!.number as string;
  const held = await number();
  return {
    async release() {
      if (await number() !== held) throw new Error("void: the transaction was not held");
      await other`ROLLBACK`;
      other.release();
      await sql.end();
    },
  };
}
