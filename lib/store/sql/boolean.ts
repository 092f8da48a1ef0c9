/** A column of a table that the drivers with SQL have alike: SQLite has 0 and 1. */
export type SqlBoolean = boolean | 0 | 1;
