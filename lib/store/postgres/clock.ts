/** The database's clock, Unix milliseconds, as it is when this is come to: no gateway's own has a say. */
export const NOW_MS = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
